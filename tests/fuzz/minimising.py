"""Keep the few inputs of a search that together go all ways through the code that it went."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

from tests.fuzz.corpus import keep, kept
from tests.fuzz.every import HARNESSES
from tests.fuzz.harness import Harness, check

LARGEST: Final = 1500
MOST: Final = 60
"""Bytes of one input and inputs of one harness that are kept: the corpus stays readable."""

Step = tuple[str, int, int]
"""A file, and two of its lines that were run one after the other."""


def minimise(name: str, folder: Path) -> int:
    """Write the corpus of a harness anew, from what is kept and what was found; its size."""
    harness = HARNESSES[name]
    findings = {finding for finding in _findings(folder, name) if len(finding) <= LARGEST}
    seeds = {*harness.seeds, *kept(name), *_reached(folder, name)}
    small = sorted(
        (data for data in seeds if len(data) <= LARGEST), key=lambda data: (len(data), data)
    )
    chosen = {*list(_adding(harness, small))[:MOST], *findings}
    keep(name, chosen)
    return len(chosen)


def _reached(folder: Path, name: str) -> Iterator[bytes]:
    yield from (path.read_bytes() for path in (folder / name).glob("*") if path.is_file())


def _findings(folder: Path, name: str) -> Iterator[bytes]:
    """Yield the inputs that failed, one for each place in the code that names their file."""
    names = [harness for harness in HARNESSES if harness.startswith(f"{name}-")]
    for path in (folder / "findings").glob(f"{name}-[A-Z]*"):
        if path.suffix != ".txt" and not any(path.name.startswith(f"{text}-") for text in names):
            yield path.read_bytes()


def _adding(harness: Harness, inputs: Iterable[bytes]) -> Iterator[bytes]:
    """Those that go a step which none before did."""
    steps_before: set[Step] = set()
    for data in inputs:
        steps = _steps(harness, data)
        if not steps <= steps_before:
            steps_before |= steps
            yield data


def _steps(harness: Harness, data: bytes) -> set[Step]:
    steps: set[Step] = set()

    def trace(frame: FrameType, _event: str, _arg: Any) -> Any:
        name = frame.f_code.co_filename
        if "/kapy/" not in name:
            return None

        before = frame.f_lineno

        def line(inner: FrameType, event: str, _: Any) -> Any:
            nonlocal before
            if event == "line":
                steps.add((name, before, inner.f_lineno))
                before = inner.f_lineno
            return line

        return line

    sys.settrace(trace)
    try:
        check(harness, data)
    except Exception:  # a finding that is not mended yet is worth keeping
        return {*steps, (repr(data), 0, 0)}
    finally:
        sys.settrace(None)
    return steps
