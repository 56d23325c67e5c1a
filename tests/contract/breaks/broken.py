"""A rule of a contract, broken on purpose: one realistic bug, and the tests that notice it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kapy.testing.conformance.rules import DOCUMENTS


class Break(NamedTuple):
    """A change of one expression that breaks rules.

    name: what goes wrong. file: below `src/kapy`. old: text that occurs there exactly once. new:
    what replaces it. shown: by test, below `tests` as `file.py::name`, the ids of the rules whose
    breach it shows. Each of these tests must fail.
    """

    name: str
    file: str
    old: str
    new: str
    shown: Mapping[str, Sequence[str]]


_IDS: Final = [rule.id for document in DOCUMENTS for rule in (*document.rules, *document.promises)]


def each(*names: str, but: Sequence[str] = ()) -> tuple[str, ...]:
    """The rules of these names in all documents that have them. but: documents to leave out."""
    partitions = (rule.partition("/") for rule in _IDS)
    return tuple(
        f"{document}/{name}"
        for document, _, name in partitions
        if name in names and document not in but
    )
