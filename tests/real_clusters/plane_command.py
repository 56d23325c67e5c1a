"""The command `kapy` for one plane on this machine, whose containers run on one engine."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from kapy.client import kubeconfig_files
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.containers import Engine

END: Final = 180.0


class Kapy:
    """The command line, for one plane and one engine."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder / "plane"
        self._kubeconfig = folder / "kubeconfig"
        self._environment = os.environ | {
            "DOCKER_HOST": engine.address, "HOME": str(folder), "KUBECONFIG": str(self._kubeconfig),
        }  # fmt: skip

    async def run(self, *arguments: str) -> str:
        """Run a command about the plane, and return its output. Fails with all of the output."""
        return await self.manage(*arguments, "--data-dir", str(self.folder))

    async def manage(self, *arguments: str) -> str:
        """Run a command about the management cluster, and return its output."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kapy.cli.main", *arguments),
            env=self._environment,
            stdout=PIPE,
            stderr=STDOUT,
        )
        data, _ = await process.communicate()
        assert process.returncode == 0, data.decode()
        return data.decode()

    async def kubectl(self, *arguments: str) -> Process:
        """A running kubectl."""
        return await asyncio.create_subprocess_exec(
            "kubectl", *arguments, env=self._environment, stdout=PIPE, stderr=STDOUT
        )

    async def kill(self) -> None:
        """End the plane at once, and wait until its process is gone and its folder is free."""
        document = json.loads((self.folder / "plane.json").read_bytes())
        process = os.pidfd_open(document["pid"])
        try:
            os.kill(document["pid"], signal.SIGKILL)
            ended, _, _ = await asyncio.to_thread(select.select, [process], [], [], END)
            assert ended
        finally:
            os.close(process)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A client of the plane."""
        transport = ApiTransport(kubeconfig_files.load([self._kubeconfig], ""))
        try:
            yield Client(transport, field_manager="test")
        finally:
            await transport.aclose()

    async def pods(self) -> list[dict[str, Any]]:
        """Return the Pods in the output of `kapy status`."""
        results: list[dict[str, Any]] = json.loads(await self.run("status", "-o", "json"))["pods"]
        return results

    @property
    def pid(self) -> int:
        """The process of the plane."""
        return int(json.loads((self.folder / "plane.json").read_bytes())["pid"])
