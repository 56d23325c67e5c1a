"""Real processes: a plane and its workers, killed and stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.apps.cluster_progress import is_complete
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kinds import Kinds
from kapy.client.kubeconfig_files import load
from tests.apps.workers.test_stories import cluster
from tests.waiting import LIMIT

pytestmark = pytest.mark.sockets

NAMES = [f"herd-{number}" for number in range(8)]


class Plane:
    """`kapy up --processes 2`, in the foreground."""

    def __init__(self, home: Path, *options: str) -> None:
        self._environ = {
            **os.environ,
            "HOME": str(home),
            "KAPY_HOME": str(home),
            "KUBECONFIG": str(home / "config"),
        }
        self.config = home / "config"
        self.log = home / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "up", "--in-memory", "--port=0", "--processes=2", *options],
                env=self._environ,
                stdout=log,
                stderr=log,
            )

    def until(self, holds: Any) -> Any:
        """Wait for something, and return it."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            if value := holds():
                return value
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())

    def kapy(self, *words: str) -> str:
        done = subprocess.run(
            [*COMMAND, *words], env=self._environ, capture_output=True, text=True, check=False
        )
        return done.stdout

    @property
    def worker(self) -> dict[str, Any]:
        """The record of the worker."""
        report = json.loads(self.kapy("status", "-o", "json") or "{}")
        (worker,) = report.get("workers") or [{}]
        return dict(worker)

    def running_worker(self, other_than: int = 0) -> int:
        """The process of the worker once it works."""

        def pid() -> int:
            worker = self.worker
            runs = worker.get("state") == "running" and worker["pid"] != other_than
            return int(worker["pid"]) if runs else 0

        return int(self.until(pid))


COMMAND = (sys.executable, "-m", "kapy.cli.main")


@contextmanager
def plane(home: Path, *options: str) -> Iterator[Plane]:
    running = Plane(home, *options)
    try:
        running.until(lambda: "is current" in running.log.read_text())
        yield running
    finally:
        running.process.kill()
        running.process.wait()


@asynccontextmanager
async def client_of(running: Plane) -> AsyncIterator[Client]:
    transport = ApiTransport(load([running.config]))
    try:
        yield Client(transport)
    finally:
        await transport.aclose()


def has_ended(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + LIMIT
    while not has_ended(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.02)


needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes in /proc")


@needs_proc
async def test_a_worker_killed_while_clusters_are_created_duplicates_nothing(
    tmp_path: Path,
) -> None:
    with plane(tmp_path) as running:
        first = running.running_worker()
        async with client_of(running) as client:
            kinds = Kinds(client)
            for name in NAMES:
                for document in cluster(name):
                    await client.create(await kinds.of(document), document)
            async with asyncio.timeout(LIMIT):
                while not (await client.list(Machine)).items:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            os.kill(first, signal.SIGKILL)
            async with asyncio.timeout(5 * LIMIT):
                while not all(  # noqa: ASYNC110
                    map(is_complete, (await client.list(Cluster.RESOURCE)).items)
                ):
                    await asyncio.sleep(0.1)
            machines = (await client.list(Machine)).items
        assert Counter(machine.spec.cluster_name for machine in machines) == dict.fromkeys(NAMES, 3)
        second = running.running_worker(first)
        assert running.worker["restarts"] == 1
        assert "process" in running.kapy("status")
        log = running.log.read_text()
        assert "worker-1 was killed by signal 9; the other processes have its clusters" in log
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(LIMIT) == 0
        wait_for_end(second)


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_plane(number: signal.Signals, tmp_path: Path) -> None:
    with plane(tmp_path) as running:
        worker = running.running_worker()
        running.process.send_signal(number)
        running.process.wait(LIMIT)
        wait_for_end(worker)
