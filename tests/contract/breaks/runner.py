"""Breaks rules one after the other in copies of the source, and runs the tests that must fail."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

from tests.contract.breaks.broken import Break

ROOT: Final = Path(__file__).parents[3]
TIMEOUT: Final = 300.0
"""Seconds for the tests of one break."""

_RAN: Final = (0, 1)
_FAILED: Final = re.compile(r"^FAILED (\S+?)(?:\[.*)?(?: - .*)?$", re.MULTILINE)


class Outcome(NamedTuple):
    """unseen: tests that passed although the rule was broken. problem: why none could be tried."""

    broken: Break
    unseen: Sequence[str]
    problem: str = ""

    @property
    def is_seen(self) -> bool:
        """Whether every test has noticed it."""
        return not self.unseen and not self.problem


def source_of(entry: Break, root: Path = ROOT) -> Path:
    """The file that a break changes."""
    return root / "src" / "kapy" / entry.file


def run(breaks: Iterable[Break], folder: Path, *, workers: int = 1) -> Iterator[Outcome]:
    """Try breaks in `folder`; outcomes come in the order of the breaks."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(workers):
        copy = folder / str(number)
        shutil.copytree(ROOT / "src", copy / "src")
        copies.put(copy)

    def tried(numbered: tuple[int, Break]) -> Outcome:
        copy = copies.get()
        try:
            return _tried(*numbered, copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(tried, enumerate(breaks, start=1))


def _tried(number: int, entry: Break, copy: Path) -> Outcome:
    path = source_of(entry, copy)
    source = path.read_text()
    path.write_text(source.replace(entry.old, entry.new))
    _touch(path, 2 * number)
    try:
        return _judged(entry, copy)
    finally:
        path.write_text(source)
        _touch(path, 2 * number + 1)


def _touch(path: Path, number: int) -> None:
    """Compiled files are told by the second and the size of their source: give each state another
    time."""
    time = 1_000_000_000 + number
    os.utime(path, (time, time))


def _judged(entry: Break, copy: Path) -> Outcome:
    wanted = {test: node_of(test) for test in entry.shown}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rf", "-p", "no:cacheprovider"]
    command += ["-o", f"pythonpath=. {copy / 'src'}", *dict.fromkeys(wanted.values())]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome(entry, [], f"the tests did not end within {TIMEOUT:g} s")
    if done.returncode not in _RAN:
        return Outcome(entry, [], done.stdout + done.stderr)
    failed = set(_FAILED.findall(done.stdout))
    return Outcome(entry, [test for test, node in wanted.items() if node not in failed])


@cache
def node_of(test: str) -> str:
    """The node ID in pytest of a test that is named as `file.py::name`."""
    path, _, name = test.partition("::")
    file = ROOT / "tests" / path
    for node in ast.parse(file.read_text()).body:
        inner = [getattr(item, "name", "") for item in getattr(node, "body", ())]
        if isinstance(node, ast.ClassDef) and name in inner:
            return f"tests/{path}::{node.name}::{name}"
    return f"tests/{path}::{name}"
