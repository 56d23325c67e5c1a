"""Runs Python extensions beside a plane, each in its own process, called over HTTPS.

No extension code runs in the plane's process. A process that dies is restarted with a growing
back-off. All processes end with the plane, even if it is killed.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from kapy._aio.child_process import ChildProcess
from kapy._aio.services import run_services
from kapy.apps.extension_server.configured_extensions import (
    ConfiguredExtension,
    delete_registrations_except,
    register,
    url_manifest,
)
from kapy.apps.start_waits import NotStarted, wait_with_limit
from kapy.client.client import Client
from kapy.engine.reflector import Backoff
from kapy.kube import Document
from kapy.kube.errors import KapyError

FIRST_BACKOFF: Final = 0.5
MAX_BACKOFF: Final = 30.0
"""Seconds before a process that died is started again, at first and at last."""
STABLE_AFTER: Final = 60.0
"""Seconds of a run after which the back-off is reset."""
START_TIMEOUT: Final = 60.0
"""Seconds that a process may take until it can be called."""

_log = logging.getLogger(__name__)


class DidNotStart(KapyError):
    """An extension ended before it could be called; its output is printed above."""


@asynccontextmanager
async def run_extensions(
    client: Client, extensions: Sequence[ConfiguredExtension], folder: Path, random: Random
) -> AsyncIterator[None]:
    """Run a plane's extensions while the context is open.

    folder: stores their certificates. Raises DidNotStart, NotStarted, ApiError.
    """
    await delete_registrations_except(client, {item.name for item in extensions})
    for extension in extensions:
        if not extension.is_module:
            await register(client, url_manifest(extension))
    modules = [
        ExtensionProcess(item, folder, client, random) for item in extensions if item.is_module
    ]
    try:
        async with asyncio.TaskGroup() as group:
            for module in modules:
                group.create_task(module.start())
    except* (DidNotStart, NotStarted) as failed:
        raise failed.exceptions[0] from None
    async with run_services(**{module.wanted.name: module.run for module in modules}):
        yield


class ExtensionProcess:
    """Runs one Python extension in a process of its own, and registers it."""

    def __init__(
        self, extension: ConfiguredExtension, folder: Path, client: Client, random: Random
    ) -> None:
        self.wanted = extension
        self._folder = folder / extension.name
        self._client = client
        self._backoff = Backoff(random, first=FIRST_BACKOFF, longest=MAX_BACKOFF)
        self._process: ChildProcess | None = None

    async def start(self) -> None:
        """Start the process, and register the extension when it is ready. Raises DidNotStart."""
        process = self._process = await self._spawn()
        try:
            await register(self._client, await self._manifest(process))
        except BaseException:
            await self._stop()
            raise

    async def _manifest(self, process: ChildProcess) -> Document:
        """Return the manifest that the process prints when it is ready. Raises DidNotStart."""
        assert process.stdout is not None
        extension = self.wanted
        what = f"the extension {extension.name} ({extension.target}) to say that it can be called"
        async with wait_with_limit(what, limit=START_TIMEOUT):
            line = await process.stdout.readline()
            if not line:
                raise self._did_not_start(f"ended with code {await process.wait()}")
        manifest: Document = msgspec.json.decode(line)
        return manifest

    async def _spawn(self) -> ChildProcess:
        extension = self.wanted
        serve = (
            "extension",
            "serve",
            extension.target,
            "--port",
            "0",
            "--tls-dir",
            str(self._folder),
        )
        try:
            command = (sys.executable, "-m", "kapy.cli.main", *serve)
            return await ChildProcess.start(
                (*command, "--register-as", extension.name, "--for-plane"), stdout=PIPE
            )
        except OSError as error:
            raise self._did_not_start(f"is no process ({error.strerror or error})") from None

    def _did_not_start(self, reason: str) -> DidNotStart:
        extension = self.wanted
        return DidNotStart(
            f"the extension {extension.name} ({extension.target}) {reason} before it could be "
            "called; it says why above"
        )

    async def run(self) -> None:
        """Restart the process whenever it ends; stop it when cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                assert self._process is not None
                began = loop.time()
                code = await self._process.wait()
                if loop.time() - began > STABLE_AFTER:
                    self._backoff.reset()
                await self._restart_later(f"ended with code {code}")
        finally:
            await self._stop()

    async def _restart_later(self, reason: str) -> None:
        seconds = self._backoff.next()
        _log.error("the extension %s %s; starts again in %.1f s", self.wanted.name, reason, seconds)
        # A timer, because the cause of the crash cannot be watched.
        await asyncio.sleep(seconds)
        try:
            await self.start()
        except KapyError as error:
            _log.error("%s", error)

    async def _stop(self) -> None:
        if self._process is not None:
            await self._process.stop()
