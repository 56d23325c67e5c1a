"""Applies mutations one at a time to a copy of the source, and runs the tests that must fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutations.mutation import Mutation

ROOT: Final = Path(__file__).parents[2]
TIMEOUT: Final = 300.0
"""Seconds; a mutated controller may never come to rest, which a test notices too."""

_PASSED: Final = 0
_FAILED: Final = 1


class Verdict(Enum):
    """The outcome of the tests of a mutation."""

    KILLED = "killed"
    HUNG = "hung"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"


class Outcome(NamedTuple):
    """output: what pytest printed, for mutations that could not be tried."""

    mutation: Mutation
    verdict: Verdict
    output: str = ""

    @property
    def is_found(self) -> bool:
        """Whether a test notices the bug."""
        return self.verdict in (Verdict.KILLED, Verdict.HUNG)


def source_of(mutation: Mutation, root: Path = ROOT) -> Path:
    """The file that a mutation changes."""
    return root / "src" / "kapy" / mutation.file


def run(mutations: Iterable[Mutation], folder: Path) -> Iterator[Outcome]:
    """Try mutations in `folder`, which gets a copy of the source."""
    shutil.copytree(ROOT / "src", folder / "src")
    for number, mutation in enumerate(mutations, 1):
        path = source_of(mutation, folder)
        source = path.read_text()
        path.write_text(source.replace(mutation.old, mutation.new))
        _touch(path, 2 * number)
        yield _tried(mutation, folder)
        path.write_text(source)
        _touch(path, 2 * number + 1)


def _touch(path: Path, number: int) -> None:
    """Compiled files are told by the second and the size of their source: give each state another
    time."""
    time = 1_000_000_000 + number
    os.utime(path, (time, time))


def _tried(mutation: Mutation, folder: Path) -> Outcome:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider"]
    command += ["-o", f"pythonpath=. {folder / 'src'}", *mutation.tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome(mutation, Verdict.HUNG)
    verdicts = {_PASSED: Verdict.SURVIVED, _FAILED: Verdict.KILLED}
    verdict = verdicts.get(done.returncode, Verdict.BROKEN)
    return Outcome(mutation, verdict, done.stdout + done.stderr)
