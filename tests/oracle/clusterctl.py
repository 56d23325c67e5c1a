"""Recorded runs of clusterctl's commands: one sub-topic for each file of the topic's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.oracle.commands import as_recorded, ran
from tests.oracle.generated import as_generated
from tests.oracle.mistakes import as_recorded as as_refused
from tests.oracle.topic import Check, Record, Result, records, result_of


def _config(record: Record) -> Iterator[str]:
    """Compare a run of a command. Only the exit code of `version` counts: its output is our own."""
    if record["args"][0] == "version":
        record = {**record, "stdout": ran(record).output}
    yield from as_recorded(record)


CHECKS: Final[Mapping[str, Check]] = {
    "config": _config,
    "convert": as_generated,
    "errors": as_refused,
    "generate-cluster": as_generated,
    "generate-provider": as_generated,
    "generate-yaml": as_generated,
}
"""The comparison of the runs of each file."""
STORIES: Final[Mapping[str, str]] = {
    "live": "tests.oracle.live",
    "management": "tests.oracle.management",
}
"""Files whose runs follow each other: the module of each has `replay`."""


def replay(folder: Path, topics: Sequence[str] = ()) -> dict[str, list[Result]]:
    """The results of each sub-topic (the name of a file), all or only those asked for."""
    return {topic: _results(folder, topic) for topic in topics or (*CHECKS, *STORIES)}


def _results(folder: Path, topic: str) -> list[Result]:
    path = folder / f"{topic}.jsonl.gz"
    if topic in STORIES and path.is_file():
        results: list[Result] = import_module(STORIES[topic]).replay(records(path))
        return results
    if topic not in CHECKS or not path.is_file():
        return [Result(topic, (f"there is nothing to replay in {path}",))]
    return [
        result_of(f"{topic}/{record['id']} {record['title']}", CHECKS[topic], record)
        for record in records(path)
    ]
