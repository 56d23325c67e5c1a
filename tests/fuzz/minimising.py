"""Keep the few inputs of a search that together run all lines that it reached."""

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

Line = tuple[str, int]


def minimise(name: str, folder: Path) -> int:
    """Write the corpus of a harness anew, from what is kept and what was found; its size."""
    harness = HARNESSES[name]
    found = {*harness.seeds, *kept(name), *_found(folder, name)}
    small = sorted((one for one in found if len(one) <= LARGEST), key=lambda one: (len(one), one))
    chosen = list(_adding(harness, small))[:MOST]
    keep(name, chosen)
    return len(chosen)


def _found(folder: Path, name: str) -> Iterator[bytes]:
    yield from (path.read_bytes() for path in (folder / name).glob("*") if path.is_file())
    findings = (folder / "findings").glob(f"{name}-*")
    yield from (path.read_bytes() for path in findings if path.suffix != ".txt")


def _adding(harness: Harness, inputs: Iterable[bytes]) -> Iterator[bytes]:
    """Those that run lines which none before did."""
    known: set[Line] = set()
    for one in inputs:
        lines = _lines(harness, one)
        if not lines <= known:
            known |= lines
            yield one


def _lines(harness: Harness, data: bytes) -> set[Line]:
    lines: set[Line] = set()

    def trace(frame: FrameType, _event: str, _arg: Any) -> Any:
        name = frame.f_code.co_filename
        if "/kapy/" not in name:
            return None

        def line(inner: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                lines.add((name, inner.f_lineno))
            return line

        return line

    sys.settrace(trace)
    try:
        check(harness, data)
    except Exception:  # a finding that is not mended yet is worth keeping
        return {*lines, (repr(data), 0)}
    finally:
        sys.settrace(None)
    return lines
