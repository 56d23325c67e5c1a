"""A provider as a program, in whatever language: started with a kubeconfig, ended by a signal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from kapy.client.kubeconfig import with_context
from kapy.kube import yaml
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.ground import Ground
from kapy.testing.conformance.subject import Limits

PATIENCE: Final = 30.0
"""Seconds in which a program has to ask for something. A timer: what hangs tells nothing."""
GRACE: Final = 5.0
"""Seconds that it gets to end. A timer: a program may not listen to signals."""
_LONGEST: Final = 300


@dataclass(frozen=True)
class Command:
    """A program and its arguments. environment: besides KUBECONFIG and what is there already."""

    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    network: bool = True
    restarts: bool = True

    @asynccontextmanager
    async def running(self, ground: Ground, limits: Limits) -> AsyncIterator[None]:
        """It runs meanwhile, and has asked the API server for something. Raises SubjectError."""
        with TemporaryDirectory(prefix="kapy-conformance-") as folder:
            path = Path(folder)
            _write_kubeconfig(path / "kubeconfig", ground)
            with (path / "log").open("wb") as log:
                ground.ledger.asked.clear()
                process = await self._started(path, limits, log)
                try:
                    await self._begun(process, ground, path)
                    async with _alive(process, path):
                        yield
                finally:
                    await _ended(process)

    async def _started(
        self, folder: Path, limits: Limits, log: IO[bytes]
    ) -> asyncio.subprocess.Process:
        environment = {**os.environ, **self.environment, "KUBECONFIG": str(folder / "kubeconfig")}
        try:
            return await asyncio.create_subprocess_exec(
                *self.argv,
                *_flags(limits),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as error:
            raise SubjectError(
                f"{self.argv[0]} cannot be started: {error.strerror or error}; give the program "
                "and its arguments after --"
            ) from None

    async def _begun(
        self, process: asyncio.subprocess.Process, ground: Ground, folder: Path
    ) -> None:
        """Wait for its first request, or for its end. Raises SubjectError."""
        try:
            async with _alive(process, folder):
                await asyncio.wait_for(ground.ledger.asked.wait(), PATIENCE)
        except TimeoutError:
            raise SubjectError(
                f"the provider runs, and has not asked the API server for anything in "
                f"{PATIENCE:g} seconds; it has to use the kubeconfig that KUBECONFIG names"
                f"{_last_words(folder)}"
            ) from None


def _flags(limits: Limits) -> list[str]:
    told = {"--namespace": limits.namespace, "--watch-filter": limits.watch_filter}
    return [f"{name}={value}" for name, value in told.items() if value]


def _write_kubeconfig(path: Path, ground: Ground) -> None:
    assert ground.access is not None  # programs run on grounds that listen
    text = yaml.dump_all([with_context({}, "conformance", ground.access)])
    path.touch(mode=0o600)
    path.write_text(text)


@asynccontextmanager
async def _alive(process: asyncio.subprocess.Process, folder: Path) -> AsyncIterator[None]:
    """Cancel the body when the program ends. Raises SubjectError then."""
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_watch(process, folder))
            try:
                yield
            except Exception as error:
                failure = error  # to come out as it is, in no group
            watching.cancel()
    except* SubjectError as group_:
        raise group_.exceptions[0] from None
    if failure is not None:
        raise failure


async def _watch(process: asyncio.subprocess.Process, folder: Path) -> None:
    code = await process.wait()
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    raise SubjectError(f"the provider ended {how}{_last_words(folder)}")


def _last_words(folder: Path) -> str:
    """The last line that it said."""
    text = (folder / "log").read_bytes().decode("utf-8", "replace").strip()
    line = text.rpartition("\n")[2].strip()
    return f': "{line[:_LONGEST]}"' if line else ""


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End it and what it has started."""
    for told in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            break
        with suppress(ProcessLookupError):
            os.killpg(process.pid, told)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
