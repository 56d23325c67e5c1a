"""What came of the checks of a provider that runs, and the report that is made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kapy.kube.names import Resource
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.findings import Finding, Remainder, Report, Result, State
from kapy.testing.conformance.rules import RULES, Checked, Rule
from kapy.testing.conformance.subject import Subject

ONCE: Final = "once"
"""The rule that only bad days show."""


@dataclass
class Verdicts:
    """What came of the checks so far, by rule.

    finished: the looks that came to their end. died: how the provider ended, "" where it did not.
    begun: the rules of looks that are under way, by namespace.
    """

    findings: defaultdict[str, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    passed: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    not_run: dict[str, str] = field(default_factory=dict)
    not_applicable: dict[str, str] = field(default_factory=dict)
    finished: set[tuple[Check, Resource]] = field(default_factory=set)
    died: str = ""
    begun: dict[str, str] = field(default_factory=dict)

    def result(self, rule: Rule) -> Result | None:
        """What is known of a rule; None where no check was tried."""
        if found := self.findings.get(rule.id):
            return Result(rule, State.BROKEN, findings=tuple(found))
        if rule.id in self.not_run:
            return Result(rule, State.NOT_RUN, self.not_run[rule.id])
        if count := self.passed.get(rule.id):
            return Result(rule, State.PASSED, f"{count} looked at")
        if rule.id in self.not_applicable:
            return Result(rule, State.NOT_APPLICABLE, self.not_applicable[rule.id])
        return None


def report(subject: Subject, verdicts: Verdicts, remains: Iterable[Remainder] = ()) -> Report:
    """What is known of every rule that a look at the running provider tells.

    remains: what the kit could not remove.
    """
    results = tuple(_results(subject, verdicts))
    return Report(subject.name, results, verdicts.died, tuple(remains))


def _results(subject: Subject, verdicts: Verdicts) -> Iterable[Result]:
    for rule in RULES.values():
        if rule.checked is Checked.BEHAVIOUR:
            yield verdicts.result(rule) or _unchecked(subject, rule)


def _unchecked(subject: Subject, rule: Rule) -> Result:
    if rule.name != ONCE:
        return Result(rule, State.NOT_RUN, "there is no check of it")
    if not subject.of(rule.document):
        return Result(rule, State.NOT_APPLICABLE, f"no kind of {rule.document}")
    return Result(rule, State.NOT_RUN, "only bad days show it: see --faults")
