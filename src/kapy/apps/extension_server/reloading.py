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

Print = Callable[[str], None]

POLL_SECONDS: Final = 0.3
"""The interval of checks for changed files, which cannot be watched portably."""
MAX_FILES: Final = 10_000
_IGNORED_FOLDERS: Final = ("__pycache__", "node_modules", "site-packages")

Stamps = Mapping[Path, tuple[int, int]]


def source_folder(place: str) -> Path:
    """Return the folder with the Python files of an extension `MODULE:NAME`: its package, or the
    folder of its module.
    """
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


def file_stamps(folder: Path) -> Stamps:
    """Time and size of the Python files below a folder."""
    stamps = {}
    for path in _sources(folder):
        try:
            stat = path.stat()
        except OSError:
            continue  # the file was removed in between
        stamps[path] = (stat.st_mtime_ns, stat.st_size)
    return stamps


def _sources(folder: Path) -> Iterator[Path]:
    count = 0
    for at, folders, files in os.walk(folder):
        folders[:] = [
            item for item in folders if not item.startswith(".") and item not in _IGNORED_FOLDERS
        ]
        for name in files:
            if name.endswith(".py"):
                count += 1
                if count > MAX_FILES:
                    return
                yield Path(at) / name


def syntax_error(paths: Sequence[Path]) -> str:
    """Return the syntax error of the first invalid Python file, "" if all are valid."""
    for path in paths:
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return f"{path}: {error}"
        except OSError:
            continue
    return ""


async def run_with_reload(command: Sequence[str], folder: Path, report: Print) -> None:
    """Run a command, and restart it whenever a Python file below the folder changes; until
    cancelled."""
    while True:
        there = file_stamps(folder)
        process = await ChildProcess.start(command, stdin=None)
        try:
            changed = await _wait_for_change(process, folder, there, report)
        finally:
            await process.stop()
        report(f"{', '.join(path.name for path in changed)} changed; serving it anew")


async def _wait_for_change(
    process: ChildProcess, folder: Path, before: Stamps, report: Print
) -> Sequence[Path]:
    """Wait for changes; returns the changed files once all are valid Python."""
    is_reported = False
    while True:
        await asyncio.sleep(POLL_SECONDS)
        if process.returncode is not None and not is_reported:
            is_reported = True
            report("it does not run; it is tried again when a file changes")
        now = file_stamps(folder)
        changed = sorted({path for path, _ in now.items() ^ before.items()})
        if not changed:
            continue
        before = now
        wrong = syntax_error([path for path in changed if path in now])
        if not wrong:
            return changed
        report(f"{wrong}; what was served before goes on")
