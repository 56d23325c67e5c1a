"""Topics: folders of recorded cases, each with the function that replays a case.

A topic of pure functions is a module with one name, `FILES`: for each file of its folder (without
`.jsonl` or `.jsonl.gz`) the function that returns the differences from a record, one line each.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Record], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case: `differences` is empty when it passed."""

    case: str
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.differences


def records(path: Path) -> Iterator[Record]:
    """The records of one `.jsonl` or `.jsonl.gz` file."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    for line in data.decode().splitlines():
        if line.strip():
            yield json.loads(line)


def replayed(files: Mapping[str, Check], folder: Path) -> Iterator[Result]:
    """Every case of every file in `folder`, in the order of their names.

    A file that the topic cannot read is one failed case: what is not compared did not pass.
    """
    paths = sorted(folder.glob("*.jsonl*"))
    if not paths:
        yield Result(str(folder), ("there is no .jsonl file in this folder",))
    for path in paths:
        stem = path.name.split(".")[0]
        check = files.get(stem)
        if check is None:
            yield Result(stem, (f"nothing here can replay {path.name}",))
            continue
        for number, record in enumerate(records(path)):
            yield result_of(f"{stem}[{number}]", check, record)


def result_of(case: str, check: Check, record: Record) -> Result:
    """Return the result of one record."""
    return Result(case, _differences(check, record))


def _differences(check: Check, record: Record) -> tuple[str, ...]:
    try:
        return tuple(check(record))
    except Exception as error:
        # One case that breaks must not hide the others.
        return (f"raised {type(error).__name__}: {error}",)


def compared(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """One line for each place where two JSON values differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted({*expected, *actual}):
            where = f"{path}.{key}"
            if key not in actual:
                yield f"{where}: missing, recorded is {_short(expected[key])}"
            elif key not in expected:
                yield f"{where}: not recorded, given is {_short(actual[key])}"
            else:
                yield from compared(expected[key], actual[key], where)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, (item, other) in enumerate(zip(expected, actual, strict=True)):
            yield from compared(item, other, f"{path}[{number}]")
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield f"{path or 'answer'}: recorded {_short(expected)}, given {_short(actual)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}…"
