"""The results of the behaviour checks, and the report that is made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kapy.kube.names import Resource
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.findings import Finding, Leftover, Report, Result, State
from kapy.testing.conformance.provider_under_test import ProviderUnderTest
from kapy.testing.conformance.rules import RULES, CheckMethod, Rule

ONCE: Final = "once"
"""The rule that only bad days show."""


@dataclass
class CheckResults:
    """The results so far, by rule.

    finished: the check runs that have ended. provider_error: how the provider ended, "" if it did
    not. running: the rules of current check runs, by namespace.
    """

    findings: defaultdict[str, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    passed: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    not_run: dict[str, str] = field(default_factory=dict)
    not_applicable: dict[str, str] = field(default_factory=dict)
    finished: set[tuple[Check, Resource]] = field(default_factory=set)
    provider_error: str = ""
    running: dict[str, str] = field(default_factory=dict)

    def result(self, rule: Rule) -> Result | None:
        """Return the result of a rule; None if no check was tried."""
        if value := self.findings.get(rule.id):
            return Result(rule, State.BROKEN, findings=tuple(value))
        if rule.id in self.not_run:
            return Result(rule, State.NOT_RUN, self.not_run[rule.id])
        if count := self.passed.get(rule.id):
            return Result(rule, State.PASSED, f"{count} looked at")
        if rule.id in self.not_applicable:
            return Result(rule, State.NOT_APPLICABLE, self.not_applicable[rule.id])
        return None


def report(
    provider: ProviderUnderTest, check_results: CheckResults, leftovers: Iterable[Leftover] = ()
) -> Report:
    """Return the result of every behaviour rule.

    leftovers: objects that the kit could not delete.
    """
    results = tuple(_results(provider, check_results))
    return Report(provider.name, results, check_results.provider_error, tuple(leftovers))


def _results(provider: ProviderUnderTest, results: CheckResults) -> Iterable[Result]:
    for rule in RULES.values():
        if rule.checked is CheckMethod.BEHAVIOUR:
            yield results.result(rule) or _unchecked_result(provider, rule)


def _unchecked_result(provider: ProviderUnderTest, rule: Rule) -> Result:
    if rule.name != ONCE:
        return Result(rule, State.NOT_RUN, "there is no check of it")
    if not provider.kinds_of_role(rule.document):
        return Result(rule, State.NOT_APPLICABLE, f"no kind of {rule.document}")
    return Result(rule, State.NOT_RUN, "only bad days show it: see --faults")
