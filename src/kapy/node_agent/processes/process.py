"""One process that runs in place of a container: a child of this program, or one that an earlier
run of the plane started."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from kapy._aio.clock import Clock
from kapy.containers import Session
from kapy.node_agent.processes import records
from kapy.node_agent.processes.binding import Binding
from kapy.node_agent.processes.flags import LOOPBACK
from kapy.node_agent.processes.records import Record
from kapy.node_agent.runtime import Exit, NotSupported

_log = logging.getLogger(__name__)

_STEP: Final = 0.5
UNKNOWN: Final = 137
"""The code of a process whose end nobody saw, as kubelets report it."""

Execute = Callable[[Sequence[str], float], Awaitable[int]]


def stamp_of(program: str) -> str:
    """Return a fingerprint of a program's file; "" if it does not exist."""
    try:
        status = os.stat(program)
    except OSError:
        return ""
    return f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"


class LocalProcess:
    """A `Running` for a process. child: None if an earlier agent started it.

    replaced: why another program must run in its place, "" if none must. binding: answers its
    `bind` calls, or None.
    """

    def __init__(
        self,
        record: Record,
        folder: Path,
        clock: Clock,
        *,
        child: asyncio.subprocess.Process | None,
        execute: Execute,
        replaced: Callable[[], str],
        binding: Binding | None = None,
    ) -> None:
        self.record = record
        self._folder = folder
        self._clock = clock
        self._child = child
        self._execute = execute
        self._replaced = replaced
        self._binding = binding
        self._seen = record.stamp

    def move(self, ports: Mapping[int, int]) -> None:
        """Record ports that differ from the requested ones."""
        if ports:
            by_name = {str(key): value for key, value in ports.items()}
            self.record = replace(self.record, ports={**self.record.ports, **by_name})
            try:
                records.write(self._folder, self.record)
            except OSError as error:  # the record stays in memory until this plane ends
                _log.warning("the ports of %s are not recorded: %s", self.identity, error)

    @property
    def identity(self) -> str:
        return f"process://{self.record.pid}"

    @property
    def image(self) -> str:
        return self.record.program

    @property
    def started(self) -> datetime:
        return datetime.fromisoformat(self.record.started)

    @property
    def address(self) -> str:
        return LOOPBACK

    @property
    def ports(self) -> Mapping[int, int]:
        return {int(key): value for key, value in self.record.ports.items()}

    async def ended(self) -> Exit:
        if self._child is not None:
            code = await self._child.wait()
        else:
            await _wait_until_gone(self.record)
            code = None
        self._forget()
        return _exit_of(code, self._clock())

    async def stop(self, seconds: float) -> None:
        """SIGTERM to the process and its children, SIGKILL after so many seconds."""
        if self._send(signal.SIGTERM):
            try:
                async with asyncio.timeout(seconds):
                    await self._wait()
            except TimeoutError:
                self._send(signal.SIGKILL)
                await self._wait()
        self._forget()

    def _forget(self) -> None:
        if self._binding is not None:
            self._binding.close()
        records.forget(self._folder)

    async def _wait(self) -> None:
        if self._child is not None:
            await self._child.wait()
        else:
            await _wait_until_gone(self.record)

    def _send(self, number: signal.Signals) -> bool:
        """Send a signal to the process and its children; return False if it is gone."""
        if self._child is not None:
            if self._child.returncode is not None:
                return False
        elif not self.record.is_alive:
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.record.pid, number)
        return True

    async def execute(self, command: Sequence[str], seconds: float) -> int:
        return await self._execute(command, seconds)

    async def attach(self, _: Session) -> None:
        raise NotSupported(
            "its streams are not kept: it runs as a process of the plane's machine; `kubectl logs "
            "-f` shows its output"
        )

    async def run_session(self, _: Sequence[str], __: Session) -> int:
        raise NotSupported(
            "it has no container to enter: it runs as a process of the plane's machine; run the "
            "command there"
        )

    def trouble(self) -> str:
        return ""

    def outdated(self) -> str:
        reason = self._replaced()
        if reason:
            return reason
        now = stamp_of(self.record.program)
        before, self._seen = self._seen, now
        if not now or now == self.record.stamp or now != before:
            return ""  # the file has changed: wait until it stays the same
        return f"its program {self.record.program} has changed"


def _exit_of(code: int | None, now: datetime) -> Exit:
    if code is None:
        message = "it ended while the plane did not run, or was another plane's child"
        return Exit(UNKNOWN, "ContainerStatusUnknown", now, message)
    if code < 0:
        return Exit(128 - code, "Error", now, f"it was ended by {_name_of(-code)}")
    return Exit(code, "Completed" if code == 0 else "Error", now)


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _wait_until_gone(record: Record) -> None:
    """Wait for the end of a process that is not a child of this one."""
    if sys.platform == "linux" and record.is_alive:
        with suppress(OSError):
            await _readable(os.pidfd_open(record.pid))
    while record.is_alive:  # noqa: ASYNC110
        # A timer: without a file descriptor of the process there is no event for its end.
        await asyncio.sleep(_STEP)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
