"""Search for inputs with coverage guidance (atheris, which is libFuzzer for Python).

A finding does not end the search: it is written once for each place in the code, with its trace.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import sys
import traceback
from pathlib import Path
from time import process_time
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from tests.fuzz.corpus import kept
from tests.fuzz.mutation import Mutator

if TYPE_CHECKING:
    from tests.fuzz.harness import Harness

PATIENCE: Final = 5
"""Seconds that one input may take here; the bound of the tests is a number of calls."""
_NOTE_EVERY: Final = 500  # inputs


class _TooSlow(BaseException):
    pass


def search(name: str, seconds: int, folder: Path) -> None:
    """Search for so many seconds of CPU; ends the process."""
    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["kapy"]):
        from tests.fuzz.every import HARNESSES
    harness = HARNESSES[name]
    logging.getLogger().addHandler(logging.NullHandler())
    inputs = folder / name
    inputs.mkdir(parents=True, exist_ok=True)
    for seed in (*harness.seeds, *kept(name)):
        (inputs / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    messages = ["-timeout=300", "-rss_limit_mb=3000", "-verbosity=0", "-max_len=4096"]
    messages += _dictionary(harness, folder)
    search = _Search(harness, folder, process_time() + seconds)
    mutator = {"custom_mutator": _custom(harness)} if harness.structured else {}
    signal.signal(signal.SIGVTALRM, _alarm)
    atheris.Setup([sys.argv[0], *messages, str(inputs)], search.one, **mutator)
    atheris.Fuzz()


def _dictionary(harness: Harness, folder: Path) -> list[str]:
    if not harness.words or harness.structured:
        return []
    path = folder / f"{harness.name}.dict"
    lines = ("".join(f"\\x{byte:02x}" for byte in word) for word in harness.words)
    path.write_text("".join(f'"{line}"\n' for line in lines))
    return [f"-dict={path}"]


def _custom(harness: Harness) -> Any:
    import atheris

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        content = Mutator(seed, harness.words).mutated(bytes(data)) if seed % 8 else None
        if content is not None and len(content) <= most:
            return content
        return bytes(atheris.Mutate(data, most))

    return mutate


def _alarm(_signal: int, _frame: FrameType | None) -> None:
    raise _TooSlow


class _Search:
    def __init__(self, harness: Harness, folder: Path, end: float) -> None:
        self._harness = harness
        self._end = end
        self._findings = folder / "findings"
        self._findings.mkdir(exist_ok=True)
        self._count = folder / f"{harness.name}.count"
        self._done = json.loads(self._count.read_text()) if self._count.exists() else 0

    def one(self, data: bytes) -> None:
        from tests.fuzz.harness import check

        self._done += 1
        if self._done % _NOTE_EVERY == 0:
            self._count.write_text(str(self._done))
        if process_time() > self._end:
            self._count.write_text(str(self._done))
            os._exit(0)
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
        try:
            check(self._harness, bytes(data))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._note(error, bytes(data))
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _note(self, error: BaseException, data: bytes) -> None:
        place = _place(error.__traceback__)
        name = f"{self._harness.name}-{type(error).__name__.strip('_')}-{place}"
        path = self._findings / name
        if path.exists() and path.stat().st_size <= len(data):
            return
        path.write_bytes(data)
        trace = "".join(traceback.format_exception(error, limit=-12))
        path.with_name(name + ".txt").write_text(trace[-6000:], errors="replace")


def _place(trace: TracebackType | None) -> str:
    """The innermost line of kapy's that an exception went through."""
    frames = traceback.extract_tb(trace)
    ours = [frame for frame in frames if "/kapy/" in frame.filename] or list(frames)
    last = ours[-1]
    return f"{Path(last.filename).parent.name}.{Path(last.filename).stem}.{last.lineno}"
