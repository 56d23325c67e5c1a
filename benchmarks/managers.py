"""kapy's managers as processes, at an API server over HTTPS: what clusters cost them."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.fleet import Fleet, Shape, names
from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kinds import Kinds
from kapy.client.kubeconfig_files import load
from kapy.clusterctl.describe.source import CLUSTERS

Row = dict[str, Any]
MANAGERS: Final = ("core", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-dev")
IDLE_SECONDS: Final = 20.0
AT_ONCE: Final = 50
SETTLING: Final = 180.0
"""Seconds until core has packed what nobody reads (`kapy.engine.idle_packing`)."""
PATIENCE: Final = 1800.0
_POLL: Final = 0.1
"""Seconds between two looks at the metrics, which a manager has to print each time."""
_HZ: Final = os.sysconf("SC_CLK_TCK")
_RECONCILED: Final = re.compile(
    r'^controller_runtime_reconcile_total\{controller="cluster",result="(?:success|requeue\w*)"\} '
    r"([0-9.e+]+)$",
    re.MULTILINE,
)
_RECONCILED_ANY: Final = re.compile(
    r'^controller_runtime_reconcile_total\{controller="\w+",result="(?:success|requeue\w*)"\} '
    r"([0-9.e+]+)$",
    re.MULTILINE,
)
_OPEN: Final = re.compile(
    r'^controller_runtime_reconcile_total\{controller="devcluster",result="success"\} ([0-9.e+]+)$',
    re.MULTILINE,
)
_REQUESTS: Final = re.compile(r"^rest_client_requests_total\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class Running:
    """One process."""

    def __init__(self, process: subprocess.Popen[str], port: int = 0) -> None:
        self.process = process
        self._port = port

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _HZ

    @property
    def resident(self) -> float:
        """MiB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)
        return int(match[1]) / 1024 if match else 0.0

    def counted(self, pattern: re.Pattern[str]) -> float:
        """The sum of a counter in its metrics; 0 while it shows none."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics") as answer:
                return sum(map(float, pattern.findall(answer.read().decode())))
        except OSError:
            return 0.0


async def at_work(number: int) -> list[Row]:
    """`number` clusters of one control plane machine posted at once; idle; core started anew."""
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        environ = {**os.environ, "HOME": home, "KAPY_HOME": home, "KUBECONFIG": f"{home}/config"}
        without = [f"--without={manager}" for manager in MANAGERS]
        stack.enter_context(_running(["up", "--in-memory", "--port=0", *without], environ))
        managers = {
            manager: stack.enter_context(_manager(manager, environ))
            for manager in MANAGERS
            if manager != "core"
        }
        with ExitStack() as first:
            began = time.perf_counter()
            core = managers["core"] = first.enter_context(_manager("core", environ))
            transport = ApiTransport(load([Path(home) / "config"]))
            client = Client(transport)
            try:
                rows = await _created(client, number, managers, began)
                rows.append(_idle(managers, number))
                rows.append({"step": "memory of core", "mib": round(core.resident, 1)})
            finally:
                await transport.aclose()
        rows.append(_started_anew(environ, number))
        return rows


async def started(number: int) -> list[Row]:
    """Core started beside `number` clusters of 1 + 3 that a plane in one process made before; the
    provider of their machines runs, too, so that all of them answer."""
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        folder = Path(home) / "plane"
        await _filled(folder / "data", number)
        environ = {**os.environ, "HOME": home, "KAPY_HOME": home, "KUBECONFIG": f"{home}/config"}
        without = [f"--without={manager}" for manager in MANAGERS]
        # The plane that made the clusters kept its keys in memory.
        plane = ["up", f"--data-dir={folder}", "--port=0", "--replace-keys", *without]
        stack.enter_context(_running(plane, environ))
        machines = stack.enter_context(_manager("infrastructure-dev", environ))
        _all_open(machines, number)
        return [_started_anew(environ, number, settling=SETTLING)]


async def _filled(data: Path, number: int) -> None:
    """Clusters of one control plane machine and three workers, a few at a time."""
    entry, shape = names(number), Shape(workers=3, keys="ECDSA-P256")
    async with management_plane(
        Settings(data=data, serving=Serving()), clock=system_clock
    ) as plane:
        for first in range(0, number, AT_ONCE):
            await Fleet(plane).create(shape, entry[first : first + AT_ONCE])


async def _created(
    client: Client, number: int, managers: dict[str, Running], began: float
) -> list[Row]:
    empty = _first_request(managers["core"], began)
    kinds, before = Kinds(client), {name: manager.cpu for name, manager in managers.items()}
    request = sum(manager.counted(_REQUESTS) for manager in managers.values())
    start = time.perf_counter()
    for name in names(number):
        for document in Shape(keys="ECDSA-P256").objects(name):
            await client.create(await kinds.of(document), document)
    while not await _all_available(client, number):
        await asyncio.sleep(0.5)
        if time.perf_counter() - start > PATIENCE:
            raise TimeoutError(f"{number} clusters were not Available within {PATIENCE:g} s")
    wall = time.perf_counter() - start
    cpu = {name: manager.cpu - before[name] for name, manager in managers.items()}
    requests = sum(manager.counted(_REQUESTS) for manager in managers.values()) - request
    return [
        {"step": "start of core, empty", "wall_s": round(empty, 2)},
        {
            "step": "create",
            "clusters": number,
            "wall_s": round(wall, 2),
            "cpu_s": round(sum(cpu.values()), 2),
            "cpu_s_of": {name: round(item, 2) for name, item in cpu.items()},
            "requests_per_cluster": round(requests / number, 1),
        },
    ]


def _all_open(machines: Running, number: int) -> None:
    while machines.counted(_OPEN) < number:
        time.sleep(1)


def _first_request(core: Running, began: float) -> float:
    while not core.counted(_REQUESTS):
        time.sleep(0.01)
    return time.perf_counter() - began


async def _all_available(client: Client, number: int) -> bool:
    items = (await client.list(CLUSTERS)).items
    available = sum(
        any(
            c["type"] == "Available" and c["status"] == "True"
            for c in document["status"]["conditions"]
        )
        for document in items
        if (document.get("status") or {}).get("conditions")
    )
    return available == number


def _idle(managers: dict[str, Running], number: int) -> Row:
    time.sleep(5)  # no event tells that all work is done
    before = {name: manager.cpu for name, manager in managers.items()}
    time.sleep(IDLE_SECONDS)
    percent = {
        name: round(100 * (manager.cpu - before[name]) / IDLE_SECONDS, 2)
        for name, manager in managers.items()
    }
    return {
        "step": "idle",
        "clusters": number,
        "percent_of_a_core": percent,
        "core_percent": percent["core"],
    }


def _started_anew(environ: dict[str, str], number: int, settling: float = 0.0) -> Row:
    """settling: seconds after the last first reconcile, until its memory is looked at."""
    began = time.perf_counter()
    with _manager("core", environ) as core:
        while not core.counted(_RECONCILED_ANY):
            time.sleep(_POLL)
        first, used = time.perf_counter() - began, core.cpu
        while not core.counted(_RECONCILED):
            time.sleep(_POLL)
        first_cluster = time.perf_counter() - began
        while core.counted(_RECONCILED) < number:
            time.sleep(_POLL)
        counter = time.perf_counter() - began
        time.sleep(settling)
        return {
            "step": "start of core",
            "clusters": number,
            "first_reconcile_s": round(first, 2),
            "first_reconcile_cpu_s": round(used, 2),
            "first_cluster_s": round(first_cluster, 2),
            "all_reconciled_s": round(counter, 2),
            "mib": round(core.resident, 1),
        }


@contextmanager
def _manager(name: str, environ: dict[str, str]) -> Iterator[Running]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    entries = ["--insecure-diagnostics", f"--diagnostics-address=127.0.0.1:{port}"]
    command = ["manager", name, "--health-addr=0", "--feature-gates=ClusterTopology=true", *entries]
    with _running(command, environ, says="is at https://") as process:
        yield Running(process, port)


@contextmanager
def _running(
    command: list[str], environ: dict[str, str], says: str = "is current"
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [str(Path(sys.executable).with_name("kapy")), *command],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            next(line for line in process.stdout if says in line)
            yield process
        finally:
            process.terminate()
