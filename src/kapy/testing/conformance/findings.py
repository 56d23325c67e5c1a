"""What comes of judging a release by the rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kapy.testing.conformance.rules import Level, Rule

UNSEEN: Final = "behaviour: files do not show it"
"""Why rules of behaviour are not run where only files were looked at."""


class State(Enum):
    """What is known of a rule."""

    BROKEN = "broken"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"
    NOT_RUN = "not run"
    AUTHOR = "for the author"


@dataclass(frozen=True)
class Finding:
    """A place where a rule is broken. evidence: what is there; mend: what to do."""

    file: str
    object: str
    field: str
    evidence: str
    mend: str

    @property
    def place(self) -> str:
        """Where it is."""
        return ": ".join(filter(None, (self.file, self.object, self.field)))


@dataclass(frozen=True)
class Result:
    """What is known of one rule, and why."""

    rule: Rule
    state: State
    reason: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Remainder:
    """Something that the kit made and could not remove. remedy: how to remove it."""

    object: str
    remedy: str


@dataclass(frozen=True)
class Report:
    """What is known of one release. name: what the release is called. trouble: why not everything
    could be looked at, "" where all was. remains: what the kit made and could not remove."""

    name: str
    results: tuple[Result, ...]
    trouble: str = ""
    remains: tuple[Remainder, ...] = ()

    def of(self, state: State) -> list[Result]:
        """The rules with a state."""
        return [one for one in self.results if one.state is state]

    @property
    def worst(self) -> Level | None:
        """The highest level of what is broken; None where nothing is."""
        broken = {one.rule.level for one in self.of(State.BROKEN)}
        return next((level for level in Level if level in broken), None)


def worst_of(reports: Iterable[Report]) -> Level | None:
    """The highest level of what is broken in any release."""
    found = {one.worst for one in reports}
    return next((level for level in Level if level in found), None)
