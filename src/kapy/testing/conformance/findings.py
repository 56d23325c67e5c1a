"""The findings, results and reports of checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kapy.testing.conformance.rules import Level, Rule

UNSEEN: Final = "behaviour: files do not show it"
"""The reason for which rules of behaviour are not checked if only files are checked."""


class State(Enum):
    """The result state of a rule."""

    BROKEN = "broken"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"
    NOT_RUN = "not run"
    AUTHOR = "for the author"


@dataclass(frozen=True)
class Finding:
    """A place where a rule is broken. evidence: the observed state; remedy: the advice to the
    provider's author.
    """

    file: str
    object: str
    field: str
    evidence: str
    remedy: str

    @property
    def place(self) -> str:
        """The object and field."""
        return ": ".join(filter(None, (self.file, self.object, self.field)))


@dataclass(frozen=True)
class Result:
    """The state of one rule, and its reason or findings."""

    rule: Rule
    state: State
    reason: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Leftover:
    """An object that the kit created and could not delete. remedy: the instructions to delete
    it.
    """

    object: str
    remedy: str


@dataclass(frozen=True)
class Report:
    """The results for one release. name: the name of the release. trouble: the reason for which not
    everything could be checked, "" if all was. leftovers: objects that the kit created and could
    not delete.
    """

    name: str
    results: tuple[Result, ...]
    trouble: str = ""
    leftovers: tuple[Leftover, ...] = ()

    def with_state(self, state: State) -> list[Result]:
        """Return the results with a state."""
        return [item for item in self.results if item.state is state]

    @property
    def worst(self) -> Level | None:
        """The highest level of a broken rule; None if no rule is broken."""
        broken = {item.rule.level for item in self.with_state(State.BROKEN)}
        return next((level for level in Level if level in broken), None)


def worst_of(reports: Iterable[Report]) -> Level | None:
    """Return the highest level of a broken rule in any release."""
    worsts = {report.worst for report in reports}
    return next((level for level in Level if level in worsts), None)
