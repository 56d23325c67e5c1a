"""A Docker or Podman engine of one test, which can be stopped, started and filled up."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Literal

from kapy.containers import Engine, EngineError, EngineUnreachable
from tests.real_clusters.engine import RUNTIME, START
from tests.real_clusters.parts import HERE

Kind = Literal["docker", "podman"]
SIZE: Final = "700m"
_FILLER: Final = "filler"
_END: Final = 30.0


class EngineProcess:
    """An engine of this test alone, all of whose files are on a small disk of their own."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self._kind = kind
        self._folder = folder
        self._disk = folder / "disk"
        self._process: asyncio.subprocess.Process | None = None
        self.engine = Engine(f"unix://{folder}/engine.sock")

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "engine.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(), stdout=log, stderr=log, env=os.environ | self._environment()
            )
        deadline = asyncio.get_running_loop().time() + START
        while True:
            try:
                await self.engine.info()
            except EngineUnreachable as error:
                if asyncio.get_running_loop().time() > deadline:
                    text = (self._folder / "engine.log").read_text()[-2000:]
                    raise AssertionError(f"{self._kind} does not start: {text}") from error
                await asyncio.sleep(0.2)
            else:
                return

    async def stop(self) -> None:
        """Stop it. Docker ends its containers, Podman leaves them running."""
        assert self._process is not None
        self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _END)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    @asynccontextmanager
    async def full(self) -> AsyncIterator[None]:
        """While the context is open, its disk is full, also after the engine has freed some."""
        with (self._disk / _FILLER).open("ab", buffering=0) as file:
            self._fill(file)
            async with asyncio.TaskGroup() as group:
                filling = group.create_task(self._filled(file))
                yield
                filling.cancel()
        (self._disk / _FILLER).unlink()

    async def _filled(self, file: io.FileIO) -> None:
        while True:
            await asyncio.sleep(0.002)  # sooner than a container starts in what was freed
            self._fill(file)

    def _fill(self, file: io.FileIO) -> None:
        with suppress(OSError):
            while True:
                file.write(bytes(1 << 20))

    def mount(self) -> None:
        """Mount the disk, in the mount namespace of the test."""
        self._disk.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(self._disk))
        if self._kind == "podman":
            for place in ("/etc/cni/net.d", "/var/lib/cni", "/run/containers"):
                if Path(place).is_dir():
                    _run("mount", "-t", "tmpfs", "tmpfs", place)
            (self._folder / "storage.conf").write_text(_STORAGE.format(disk=self._disk))
            (self._folder / "containers.conf").write_text(
                _CONTAINERS.format(runtime=HERE / "runtime.py")
            )
        else:
            runtimes = {RUNTIME: {"path": str(HERE / "runtime.py")}}
            settings = json.dumps({"runtimes": runtimes, "default-runtime": RUNTIME})
            (self._folder / "daemon.json").write_text(settings)

    def unmount(self) -> None:
        """Remove the disk with all that is on it."""
        _run("umount", "--lazy", str(self._disk))

    def _command(self) -> Sequence[str]:
        if self._kind == "podman":
            return (
                "podman", "--cgroup-manager=cgroupfs", "--events-backend=file",
                f"--tmpdir={self._disk}/tmp", "system", "service", "--time=0",
                self.engine.address,
            )  # fmt: skip
        return (
            "dockerd", f"--config-file={self._folder}/daemon.json", f"-H={self.engine.address}",
            f"--data-root={self._disk}/data", f"--exec-root={self._folder}/exec",
            f"--pidfile={self._folder}/pid", "--bip=10.88.0.1/24",
        )  # fmt: skip

    def _environment(self) -> dict[str, str]:
        return {
            "CONTAINERS_STORAGE_CONF": str(self._folder / "storage.conf"),
            "CONTAINERS_CONF": str(self._folder / "containers.conf"),
        }


_STORAGE: Final = """\
[storage]
driver = "overlay"
graphroot = "{disk}/data"
runroot = "{disk}/run"
"""
_CONTAINERS: Final = """\
[engine]
runtime = "fewer"
[engine.runtimes]
fewer = ["{runtime}"]
"""


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


@asynccontextmanager
async def engine_process(kind: Kind, folder: Path) -> AsyncIterator[EngineProcess]:
    """A running engine; at the end it is gone with all containers, networks and files."""
    process = EngineProcess(kind, folder)
    process.mount()
    try:
        await process.start()
        yield process
    finally:
        with suppress(EngineError):
            for container in await process.engine.containers():
                await process.engine.remove(container.id)
        await process.engine.close()
        await process.stop()
        process.unmount()
