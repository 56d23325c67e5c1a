"""Serves an extension and restarts it when its source changes, for its authors.

A child process serves it, which ends with this process. When a file changes, the child is replaced,
on the same port and with the same certificate, so that the registration stays valid.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kapy._aio.child_process import ChildProcess

Say = Callable[[str], None]

STEP: Final = 0.3
"""Seconds between two looks at the files, which no portable way watches."""
MOST_FILES: Final = 10_000
_NOT_SOURCE: Final = ("__pycache__", "node_modules", "site-packages")

Stamps = Mapping[Path, tuple[int, int]]


def source_folder(place: str) -> Path:
    """The folder with the Python files of an extension `MODULE:NAME`: its package, or the folder of
    its module."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    top = place.partition(":")[0].partition(".")[0]
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin:
        return Path.cwd()
    return Path(spec.origin).parent


def stamps(folder: Path) -> Stamps:
    """Time and size of the Python files below a folder."""
    found = {}
    for path in _sources(folder):
        try:
            stat = path.stat()
        except OSError:
            continue  # it has gone meanwhile
        found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


def _sources(folder: Path) -> Iterator[Path]:
    count = 0
    for at, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in _NOT_SOURCE]
        for name in files:
            if name.endswith(".py"):
                count += 1
                if count > MOST_FILES:
                    return
                yield Path(at) / name


def mistake(paths: Sequence[Path]) -> str:
    """The syntax error of the first invalid Python file, "" if all are valid."""
    for path in paths:
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return f"{path}: {error}"
        except OSError:
            continue
    return ""


async def reloaded(command: Sequence[str], folder: Path, say: Say) -> None:
    """Run a command, and restart it whenever a Python file below the folder changes; until
    cancelled."""
    while True:
        there = stamps(folder)
        process = await ChildProcess.start(command, stdin=None)
        try:
            changed = await _until_changed(process, folder, there, say)
        finally:
            await process.stop()
        say(f"{', '.join(path.name for path in changed)} changed; serving it anew")


async def _until_changed(
    process: ChildProcess, folder: Path, there: Stamps, say: Say
) -> Sequence[Path]:
    """Wait for changes; returns the changed files once all are valid Python."""
    told = False
    while True:
        await asyncio.sleep(STEP)
        if process.returncode is not None and not told:
            told = True
            say("it does not run; it is tried again when a file changes")
        now = stamps(folder)
        changed = sorted({path for path, _ in now.items() ^ there.items()})
        if not changed:
            continue
        there = now
        wrong = mistake([path for path in changed if path in now])
        if not wrong:
            return changed
        say(f"{wrong}; what was served before goes on")
