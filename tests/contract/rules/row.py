"""Where kapy keeps the rules of a contract document, and which tests hold them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kapy.contract.fields import View
from kapy.testing.conformance.rules import Document


@dataclass(frozen=True)
class Row:
    """A place where rules are kept.

    names: of the rules, without the document's. lines: of the text that was the source. kept:
    modules of kapy, below `src/kapy`. held: tests, below `tests`, as `file.py::name`.
    """

    names: Sequence[str]
    lines: Sequence[int]
    kept: Sequence[str]
    held: Sequence[str]


@dataclass(frozen=True)
class Kept:
    """A contract document, as kapy keeps it. view: what core reads by it, if anything.

    source: below `../shared`. pattern: what a line with a rule matches. aside: lines that match
    and ask nothing of anybody's software.
    """

    document: Document
    view: type[View] | None
    source: str
    pattern: str
    rows: Sequence[Row]
    aside: Collection[int] = ()
