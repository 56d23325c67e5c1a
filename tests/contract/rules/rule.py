"""One rule of a contract document: what it says, where kapy keeps it, which tests hold it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from kapy.contract.fields import View

Level = Literal["MUST", "SHOULD", "core", "kapy"]


@dataclass(frozen=True)
class Rule:
    """A row.

    level: what the document asks of a provider; `core`, `kapy`: what it promises that core, or the
    command, does.
    lines: where in the document. says: in our words. kept: modules of kapy, below `src/kapy`.
    held: tests, below `tests`, as `file.py::name`.
    """

    section: str
    level: Level
    lines: Sequence[int]
    says: str
    kept: Sequence[str]
    held: Sequence[str]


@dataclass(frozen=True)
class Document:
    """A contract document. view: what core reads by it, if anything.

    source: below `../shared`. pattern: what a line with a rule matches. aside: lines that match
    and ask nothing of anybody's software.
    """

    name: str
    title: str
    view: type[View] | None
    source: str
    pattern: str
    rules: Sequence[Rule]
    aside: Collection[int] = ()
