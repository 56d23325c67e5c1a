"""Starts a plane in a background process that outlives this one."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kapy.apps.pidfile import PlaneIsRunning, PlaneRecord, is_claimed, running_plane
from kapy.apps.settings import Folder
from kapy.cli.plane_log import former_log
from kapy.cli.plane_options import PlaneOptions
from kapy.cli.signals import StopRequest, handle_stop_signals
from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    from kapy.client.client import Client

READY: Final = b"ready"
SILENCE_SECONDS: Final = 300.0
"""Seconds that a starting plane may say nothing: it tells of every wait after a few."""
SILENCE_REPORT_SECONDS: Final = 15.0
"""Seconds without output of a starting plane after which that is reported."""
STOP_TIMEOUT: Final = 10.0
"""Seconds that a plane has to end when nobody waits for it any more."""


class DidNotStart(KapyError):
    """The plane ended before it was ready; the message is its last output."""


@asynccontextmanager
async def open_background_plane(options: PlaneOptions) -> AsyncIterator[tuple[Client, PlaneRecord]]:
    """Start a plane and wait until it is ready; yields a client of it. The plane is not stopped
    afterwards.

    Raises PlaneIsRunning, DidNotStart.
    """
    # `start_plane` needs no client, which is slow to import.
    from kapy.client import kubeconfig_files
    from kapy.client.client import Client
    from kapy.client.https import ApiTransport

    folder = options.folder
    assert folder is not None
    record = await start_plane(folder, list(_arguments(options, folder)))
    access = kubeconfig_files.load([Path(record.kubeconfig)], record.context)
    transport = ApiTransport(access)
    try:
        yield Client(transport, field_manager="kapy"), record
    finally:
        await transport.aclose()


async def start_plane(folder: Folder, arguments: Sequence[str]) -> PlaneRecord:
    """Start a plane in the folder with these arguments of `kapy up`; returns when it is ready.

    The plane's progress is printed. Ctrl-C and SIGTERM stop it while it is not ready. Raises
    PlaneIsRunning, DidNotStart, StartCancelled.
    """
    folder.make()
    if is_claimed(folder):
        raise PlaneIsRunning(
            f"a management plane runs in {folder.path} already; `kapy down` stops it, "
            "`kapy status` tells more"
        )
    with handle_stop_signals() as stop:
        async with stop.start("the management plane"):
            is_ready = await _start(arguments, folder)
    record = running_plane(folder)
    if not is_ready or record is None:
        raise DidNotStart(last_words(folder.log))
    return record


async def _start(arguments: Sequence[str], folder: Folder) -> bool:
    """Start the process; returns whether it became ready, otherwise it has ended."""
    process, channel = _spawn(arguments, folder)
    try:
        is_ready = await _print_progress(channel, folder)
    except BaseException:
        process.terminate()
        _wait_for_end(process)
        raise
    if not is_ready:
        _wait_for_end(process)  # its last output comes after the end of the channel
    return is_ready


def _spawn(
    arguments: Sequence[str], folder: Folder
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Return the process, and the channel on which it reports its progress.

    If this process ends, the channel is closed, which the other process notices.
    """
    former_log(folder.log).unlink(missing_ok=True)
    log = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    here, there = socket.socketpair()
    handed = there.fileno()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "kapy.cli.main", "up", *arguments, "--ready-fd", str(handed)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(handed,),
            start_new_session=True,
        )
    except BaseException:
        here.close()
        raise
    finally:
        os.close(log)
        there.close()
    return process, here


async def _print_progress(channel: socket.socket, folder: Folder) -> bool:
    """Print the progress from the channel until the process is ready (True) or ends."""
    reader, writer = await asyncio.open_unix_connection(sock=channel)
    silent = 0.0
    try:
        while True:
            try:
                async with asyncio.timeout(SILENCE_REPORT_SECONDS):
                    line = await reader.readline()
            except TimeoutError:
                silent += SILENCE_REPORT_SECONDS
                _report_silence(silent, folder)
                continue
            if not line or line.rstrip() == READY:
                return bool(line)
            silent = 0.0
            click.echo(line.decode(errors="replace"), err=True, nl=False)
    finally:
        writer.close()


def _report_silence(seconds: float, folder: Folder) -> None:
    """Report a process that is silent; raises DidNotStart after too long."""
    if seconds >= SILENCE_SECONDS:
        raise DidNotStart(
            f"the management plane said nothing for {seconds:.0f} s and was ended; its log is "
            f"{folder.log}"
        )
    click.echo(
        f"the management plane still starts, and has said nothing for {seconds:.0f} s; its log is "
        f"{folder.log}",
        err=True,
    )


def _wait_for_end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process to end, and kill it after a short while."""
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def relay_progress(handed: int | None, stop: StopRequest) -> Iterator[Callable[[], None]]:
    """Report the start's progress to the parent process, in the process that `start_plane` has
    started.

    The returned function reports that the plane is ready. If the parent process ends before that, a
    stop is requested: it did not report the plane to the user.
    """
    if handed is None:
        yield lambda: None
        return
    loop = asyncio.get_running_loop()
    log = logging.getLogger("kapy.apps.start_waits")
    with socket.socket(fileno=handed) as channel:
        handler = _Relay(channel)
        log.addHandler(handler)

        def alone() -> None:
            loop.remove_reader(channel)
            stop.set()

        def forget() -> None:
            log.removeHandler(handler)
            if channel.fileno() >= 0:
                loop.remove_reader(channel)

        def ready() -> None:
            forget()
            with suppress(OSError):  # the parent process has just ended
                channel.sendall(READY + b"\n")
            channel.close()

        loop.add_reader(channel, alone)
        try:
            yield ready
        finally:
            forget()


class _Relay(logging.Handler):
    def __init__(self, channel: socket.socket) -> None:
        super().__init__(logging.WARNING)
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record to the channel as a line."""
        with suppress(OSError):  # the parent process has ended, which is handled elsewhere
            self._channel.sendall(" ".join(record.getMessage().split()).encode() + b"\n")


def _arguments(options: PlaneOptions, folder: Folder) -> Iterator[str]:
    yield from ("--data-dir", str(folder.path), "--bind-address", options.host)
    if options.name:
        yield from ("--name", options.name)
    if options.port is not None:
        yield from ("--port", str(options.port))
    if options.in_memory:
        yield "--in-memory"
    if options.token_file:
        yield from ("--token-auth-file", str(Path(options.token_file).absolute()))
    if options.kubeconfig:
        yield from ("--kubeconfig", str(Path(options.kubeconfig).absolute()))


def last_words(log: Path) -> str:
    """Return why a plane ended before it was ready, from its log."""
    from kapy.node_agent.full_disk import disk_trouble

    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    if not lines and (trouble := disk_trouble(log.parent)):
        return (
            f"the management plane ended before it was ready: {trouble}, or use another --data-dir"
        )
    if not lines:
        return f"the management plane ended before it was ready, and said nothing in {log}"
    return lines[-1].removeprefix("Error: ")
