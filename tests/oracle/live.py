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

    before = next(one["objects_before"] for one in recorded if "objects_before" in one)
    check = partial(as_recorded, before=before)
    return [result_of(named(one), check, one) for one in runs]


def _readings(runs: Sequence[Record], recorded: Sequence[Record]) -> list[Result]:
    """What is asked and told of clusters, at the recorded points."""
    from tests.oracle.points import replayed

    return replayed(runs, next(one["points"] for one in recorded if "points" in one))


BY_COMMAND: Final[Mapping[tuple[str, ...], Replay]] = {
    ("describe", "get", "alpha"): _readings,
    ("move",): _moves,
}
"""How the runs of commands are replayed."""


def replay(records: Iterable[Record]) -> list[Result]:
    """The results of all runs."""
    recorded = list(records)
    results = []
    for commands, replayed in BY_COMMAND.items():
        runs = [one for one in recorded if one.get("args", [""])[0] in commands]
        results += replayed(runs, recorded) if runs else []
    return results


def named(record: Record) -> str:
    """A run's name."""
    return f"live/{record['id']} {record['title']}"
