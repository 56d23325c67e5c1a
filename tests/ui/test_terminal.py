"""`kapy top` and `kapy describe --watch` on a terminal: in place, after changes and resizes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path

import pytest

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests, class_sample
from kapy.apps.settings import Serving, Settings
from kapy.client.kubeconfig import with_context
from kapy.kube import Key
from kapy.kube.yaml import dump

PATIENCE = 120.0
CAPYBARA = Key("default", "capybara")
BEGIN, END = "\x1b[?1049h", "\x1b[?1049l"
"""Control sequences that begin and end a picture on the whole terminal."""
HOME = "\x1b[H"

pytestmark = pytest.mark.sockets


class Terminal:
    """A terminal in which a command runs."""

    def __init__(self, process: asyncio.subprocess.Process, handle: int) -> None:
        self.process = process
        self._handle = handle
        self._text = ""
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(handle, self._read)

    def _read(self) -> None:
        try:
            self._text += os.read(self._handle, 65536).decode(errors="replace")
        except OSError:  # the command has ended
            asyncio.get_running_loop().remove_reader(self._handle)
        self._news.set()

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; the command is told as by a real terminal."""
        self._text = ""
        set_size(self._handle, columns, rows)
        self.process.send_signal(signal.SIGWINCH)

    async def until(self, is_there: Callable[[str], bool]) -> str:
        """Wait until what was printed since the last wait or resize is as expected."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not is_there(self._text):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            pytest.fail(f"the terminal shows {self._text[-3000:]!r}")
        text, self._text = self._text, ""
        return text


def set_size(handle: int, columns: int, rows: int) -> None:
    """Set the size of a terminal."""
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@asynccontextmanager
async def _terminal(kubeconfig: Path, *words: str) -> AsyncIterator[Terminal]:
    ours, theirs = pty.openpty()
    set_size(ours, 100, 30)
    hidden = ("COLUMNS", "LINES", "NO_COLOR")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kapy.cli.main", *words,
            stdin=theirs, stdout=theirs, stderr=theirs,
            env={**environment, "TERM": "xterm", "KUBECONFIG": str(kubeconfig)},
        )  # fmt: skip
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)


@asynccontextmanager
async def _plane(folder: Path) -> AsyncIterator[tuple[ManagementPlane, Path]]:
    """A plane with a paused cluster, and the kubeconfig for it."""
    async with management_plane(Settings(serving=Serving()), clock=system_clock) as plane:
        objects = deepcopy(list(class_sample()))
        objects[-1]["spec"]["paused"] = True
        await apply_manifests(plane.client, objects)
        assert plane.kubeconfig is not None
        path = folder / "kubeconfig"
        path.write_text(dump(with_context({}, "plane", plane.kubeconfig)))
        yield plane, path


def _has_picture(text: str, columns: int, rows: int, *words: str) -> bool:
    """Whether a whole picture of a size was drawn that has some words."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-GI-Za-z]", "", text)
    pictures = [part.split("\r\n") for part in plain.split(HOME)]
    whole = (part for part in pictures if [len(line) for line in part] == [columns] * rows)
    return any(all(word in str(part) for word in words) for part in whole)


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        (("top",), "paused", "1/1"),
        (("describe", "cluster", "capybara", "--watch"), "Paused", "DevCluster"),
    ],
    ids=["top", "describe"],
)
async def test_a_picture_is_drawn_in_place_until_ctrl_c(
    tmp_path: Path, words: tuple[str, ...], before: str, after: str
) -> None:
    async with _plane(tmp_path) as (plane, kubeconfig), _terminal(kubeconfig, *words) as terminal:
        first = await terminal.until(lambda text: _has_picture(text, 100, 30, "capybara", before))
        await plane.client.patch(Cluster, CAPYBARA, {"spec": {"paused": None}})
        await terminal.until(lambda text: _has_picture(text, 100, 30, "capybara", after))
        terminal.resize(60, 12)
        await terminal.until(lambda text: _has_picture(text, 60, 12, "capybara", after))
        terminal.process.send_signal(signal.SIGINT)
        last = await terminal.until(lambda text: END in text)
        async with asyncio.timeout(PATIENCE):
            await terminal.process.wait()
    assert BEGIN in first
    assert "Traceback" not in last
    assert terminal.process.returncode == 130
