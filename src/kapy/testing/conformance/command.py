"""Run a provider as a program in any language: start it with a kubeconfig, end it by a signal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from kapy._aio.child_process import ChildProcess
from kapy.client.kubeconfig import with_context
from kapy.kube import yaml
from kapy.testing.conformance.environment import Environment
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.provider_under_test import Limits

PATIENCE: Final = 30.0
"""Seconds in which a program has to ask for something. A timer: what hangs tells nothing."""
_LONGEST: Final = 300


@dataclass(frozen=True)
class Command:
    """A program and its arguments. environment: variables besides KUBECONFIG and the inherited
    ones.
    """

    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    network: bool = True
    restarts: bool = True

    @asynccontextmanager
    async def running(self, environment: Environment, limits: Limits) -> AsyncIterator[None]:
        """Run the program while the context is open, from its first request on. Raises
        SubjectError.
        """
        with TemporaryDirectory(prefix="kapy-conformance-") as folder:
            path = Path(folder)
            _write_kubeconfig(path / "kubeconfig", environment)
            with (path / "log").open("wb") as log:
                environment.write_log.request_received.clear()
                process = await self._start(path, limits, log)
                try:
                    await self._wait_for_first_request(process, environment, path)
                    async with _cancel_on_exit(process, path):
                        yield
                finally:
                    await process.stop()

    async def _start(self, folder: Path, limits: Limits, log: IO[bytes]) -> ChildProcess:
        environment = {**os.environ, **self.environment, "KUBECONFIG": str(folder / "kubeconfig")}
        try:
            return await ChildProcess.start(
                (*self.argv, *_flags(limits)), environment=environment, stdout=log, stderr=log
            )
        except OSError as error:
            raise SubjectError(
                f"{self.argv[0]} cannot be started: {error.strerror or error}; give the program "
                "and its arguments after --"
            ) from None

    async def _wait_for_first_request(
        self, process: ChildProcess, environment: Environment, folder: Path
    ) -> None:
        """Wait for its first request, or for its end. Raises SubjectError."""
        try:
            async with _cancel_on_exit(process, folder):
                await asyncio.wait_for(environment.write_log.request_received.wait(), PATIENCE)
        except TimeoutError:
            raise SubjectError(
                f"the provider runs, and has not asked the API server for anything in "
                f"{PATIENCE:g} seconds; it has to use the kubeconfig that KUBECONFIG names"
                f"{_last_words(folder)}"
            ) from None


def _flags(limits: Limits) -> list[str]:
    text = {"--namespace": limits.namespace, "--watch-filter": limits.watch_filter}
    return [f"{name}={value}" for name, value in text.items() if value]


def _write_kubeconfig(path: Path, environment: Environment) -> None:
    assert environment.access is not None  # programs need an environment that listens
    text = yaml.dump_all([with_context({}, "conformance", environment.access)])
    path.touch(mode=0o600)
    path.write_text(text)


@asynccontextmanager
async def _cancel_on_exit(process: ChildProcess, folder: Path) -> AsyncIterator[None]:
    """Cancel the body and raise SubjectError when the program ends."""
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_watch(process, folder))
            try:
                yield
            except Exception as error:
                failure = error  # raised unchanged, not in an ExceptionGroup
            watching.cancel()
    except* SubjectError as group_:
        raise group_.exceptions[0] from None
    if failure is not None:
        raise failure


async def _watch(process: ChildProcess, folder: Path) -> None:
    code = await process.wait()
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    raise SubjectError(f"the provider ended {how}{_last_words(folder)}")


def _last_words(folder: Path) -> str:
    """Return the last line of the program's output."""
    text = (folder / "log").read_bytes().decode("utf-8", "replace").strip()
    line = text.rpartition("\n")[2].strip()
    return f': "{line[:_LONGEST]}"' if line else ""
