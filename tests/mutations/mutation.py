"""One realistic bug, as a change of one expression."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A bug that a test must find.

    name: what goes wrong. file: below `src/kapy`. old: text that occurs there exactly once. new:
    what replaces it. tests: arguments of pytest; at least one of these tests must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
