"""Managers as processes, each a pod of its own to the server, by a line that can be cut."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from kapy.apps.manager.programs import PROGRAMS, Program
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.kube import Document
from kapy.kube.yaml import dump
from tests.real.servers import ROOT
from tests.waiting import LIMIT

POD = "authentication.kubernetes.io/pod-name"
PATIENCE = LIMIT
LEASES = (
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
)


class Line:
    """The way of one process to the server."""

    def __init__(self, access: Kubeconfig) -> None:
        parts = urlsplit(access.server)
        self._to = parts.hostname or "", parts.port or 443
        self._cut = False
        self._open: set[asyncio.StreamWriter] = set()
        name = access.tls_server_name or self._to[0]
        self._access = replace(access, tls_server_name=name)
        self._port = 0

    @property
    def access(self) -> Kubeconfig:
        """The server, as it is reached through this line."""
        return replace(self._access, server=f"https://127.0.0.1:{self._port}")

    def cut(self) -> None:
        """Nothing comes through any more, and nobody is told."""
        self._cut = True

    def mend(self) -> None:
        """Let data through again. Open connections are aborted, so that their requests are lost."""
        self._cut = False
        for item in self._open:
            item.transport.abort()

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[Line]:
        """Carry what comes."""
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            while self._open:
                self.mend()
                await asyncio.sleep(0.01)

    async def _carry(self, near: asyncio.StreamReader, to_near: asyncio.StreamWriter) -> None:
        self._open.add(to_near)
        with suppress(OSError):
            far, to_far = await asyncio.open_connection(*self._to)
            self._open.add(to_far)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(near, to_far))
                group.create_task(self._pump(far, to_near))
            self._open.remove(to_far)
        to_near.close()
        self._open.remove(to_near)

    async def _pump(self, near: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await near.read(65536):
                if not self._cut:
                    far.write(data)
                    await far.drain()
        far.close()


@dataclass
class Manager:
    """One process. name: of its pod."""

    name: str
    pid: int
    log: Path
    line: Line

    def signal(self, number: int) -> None:
        """SIGTERM, SIGKILL, SIGSTOP, SIGCONT."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    @property
    def said(self) -> str:
        """All of its output."""
        return self.log.read_text()

    async def says(self, words: str) -> None:
        """Wait until it says something."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.said:
            assert time.monotonic() < deadline, f"{self.name} never said {words!r}:\n{self.said}"
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """Have it end, as Kubernetes does."""
        self.signal(signal.SIGTERM)
        await self.gone()

    async def gone(self) -> str:
        """Wait until the process has ended, and return its output."""
        deadline = time.monotonic() + PATIENCE
        while self._lives():
            assert time.monotonic() < deadline, f"{self.name} did not end:\n{self.said}"
            await asyncio.sleep(0.02)
        return self.said

    def _lives(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


@dataclass
class Stable:
    """A starter of processes. folder: of their files."""

    folder: Path
    forks: subprocess.Popen[str]

    def begin(self, name: str, kind: str, line: Line, *arguments: str) -> Manager:
        """A manager as its service account, in a pod of that name."""
        program, log = PROGRAMS[kind], self.folder / f"{name}.log"
        kubeconfig = self.folder / f"{name}.kubeconfig"
        kubeconfig.write_text(dump(account_of(line.access, program, name)))
        log.touch()
        command = [
            *("manager", kind),
            f"--kubeconfig={kubeconfig}",
            f"--leader-elect-namespace={program.namespace}",
            *("--health-addr=0", "--diagnostics-address=0"),
            *("--feature-gates=ClusterTopology=true", *LEASES),
            *arguments,
        ]
        assert self.forks.stdin is not None
        assert self.forks.stdout is not None
        self.forks.stdin.write(json.dumps({"arguments": command, "log": str(log)}) + "\n")
        self.forks.stdin.flush()
        return Manager(name, int(self.forks.stdout.readline()), log, line)


@contextmanager
def stable(folder: Path) -> Iterator[Stable]:
    """Processes, which end with the context."""
    command = [sys.executable, "-m", "tests.real.forks"]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as forks:
        result = Stable(folder, forks)
        try:
            yield result
        finally:
            forks.communicate(timeout=PATIENCE)


def account_of(access: Kubeconfig, program: Program, pod: str) -> Document:
    """A kubeconfig of a manager's service account, as its token in a pod makes it known."""
    document = with_context({}, "there", access)
    accounts = f"system:serviceaccounts:{program.namespace}"
    document["users"][0]["user"] |= {
        "as": f"system:serviceaccount:{program.namespace}:{program.account}",
        "as-groups": ["system:serviceaccounts", accounts, "system:authenticated"],
        "as-user-extra": {POD: [pod]},
    }
    return document
