"""A plane in a process of its own, which goes on when this one ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kapy.apps.presence import PlaneRuns, Presence, is_claimed, presence_of
from kapy.apps.settings import Folder
from kapy.cli.plane_options import Options
from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    from kapy.client.client import Client

READY = b"ready"


class DidNotStart(KapyError):
    """The plane ended before it was ready; the message is what it said last."""


@asynccontextmanager
async def in_background(options: Options) -> AsyncIterator[tuple[Client, Presence]]:
    """Start a plane and wait until it is ready; yields a client of it. It is not stopped.

    Raises PlaneRuns, DidNotStart.
    """
    # `begun` does without a client, whose imports take long.
    from kapy.client import kubeconfig_files
    from kapy.client.client import Client
    from kapy.client.https import Https

    folder = options.folder
    assert folder is not None
    arguments = list(_arguments(options, folder))
    loop = asyncio.get_running_loop()
    presence = await loop.run_in_executor(None, begun, folder, arguments)
    access = kubeconfig_files.load([Path(presence.kubeconfig)], presence.context)
    transport = Https(access)
    try:
        yield Client(transport, field_manager="kapy"), presence
    finally:
        await transport.aclose()


def begun(folder: Folder, arguments: Sequence[str]) -> Presence:
    """The plane that `kapy up` with these arguments runs in the folder, as soon as it is ready.

    Raises PlaneRuns, DidNotStart.
    """
    folder.make()
    if is_claimed(folder):
        raise PlaneRuns(
            f"a management plane runs in {folder.path} already; `kapy down` stops it, "
            "`kapy status` tells more"
        )
    told = _started(arguments, folder)
    presence = presence_of(folder)
    if told != READY or presence is None:
        raise DidNotStart(_last_words(folder.log))
    return presence


def _started(arguments: Sequence[str], folder: Folder) -> bytes:
    """Start the process; answers what it tells when it is ready (b"" when it ended)."""
    reading, writing = os.pipe()
    log = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        subprocess.Popen(
            [sys.executable, "-m", "kapy.cli.main", "up", *arguments, "--ready-fd", str(writing)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(writing,),
            start_new_session=True,
        )
    finally:
        os.close(log)
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read(len(READY))


def _arguments(options: Options, folder: Folder) -> Iterator[str]:
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


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    if not lines:
        return (
            f"the management plane ended before it was ready; it said nothing in {log} (is the "
            "disk full?)"
        )
    return lines[-1].removeprefix("Error: ")
