"""Recorded runs against two running clusters, by command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from tests.oracle.topic import Record, Result, result_of

Replay = Callable[[Sequence[Record], Sequence[Record]], list[Result]]
"""The results of the runs of a command, given the whole recording, too."""


def _moves(runs: Sequence[Record], recorded: Sequence[Record]) -> list[Result]:
    """Moves, of what the recording had before its last one."""
    from tests.clusterctl.move.recorded import as_recorded

    before = next(
        document["objects_before"] for document in recorded if "objects_before" in document
    )
    check = partial(as_recorded, before=before)
    return [result_of(named(run), check, run) for run in runs]


def _readings(runs: Sequence[Record], recorded: Sequence[Record]) -> list[Result]:
    """Replay the commands that read clusters, at the recorded points."""
    from tests.oracle.points import replayed

    return replayed(runs, next(document["points"] for document in recorded if "points" in document))


BY_COMMAND: Final[Mapping[tuple[str, ...], Replay]] = {
    ("describe", "get", "alpha"): _readings,
    ("move",): _moves,
}
"""The functions that replay the runs of commands."""


def replay(records: Iterable[Record]) -> list[Result]:
    """The results of all runs."""
    recorded = list(records)
    results = []
    for commands, replayed in BY_COMMAND.items():
        runs = [document for document in recorded if document.get("args", [""])[0] in commands]
        results += replayed(runs, recorded) if runs else []
    return results


def named(record: Record) -> str:
    """A run's name."""
    return f"live/{record['id']} {record['title']}"
