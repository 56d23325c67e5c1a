"""Recorded runs against two running clusters, by command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from tests.oracle.topic import Check, Record, Result, result_of


def _moves(recorded: Sequence[Record]) -> Check:
    """Moves, of what the recording had before its last one."""
    from tests.clusterctl.move.recorded import as_recorded

    before = next(one["objects_before"] for one in recorded if "objects_before" in one)
    return partial(as_recorded, before=before)


BY_COMMAND: Final[Mapping[str, Callable[[Sequence[Record]], Check]]] = {
    "move": _moves,
}
"""How the runs of a command are compared, given the whole recording."""


def replay(records: Iterable[Record]) -> list[Result]:
    """The results of the runs whose commands are replayed here."""
    recorded = list(records)
    results = []
    for command, check_of in BY_COMMAND.items():
        check = check_of(recorded)
        runs = [one for one in recorded if one.get("args", [""])[0] == command]
        results += [result_of(f"live/{one['id']} {one['title']}", check, one) for one in runs]
    return results
