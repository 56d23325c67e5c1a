"""Every rule has a test that fails when the rule is broken, which is tried.

Promises are broken in the source (`tests/contract/breaks`), the rules of providers by providers
that break them, while the conformance kit does not look. All of that takes two minutes of two
cores (`make rules`, and CI does it). Here it is a tenth of the providers and a thirtieth of the
breaks, which cost a process each, chosen by a seed.
"""

from __future__ import annotations

import ast
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

import pytest

from kapy.testing.conformance import run as conformance_run
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.checks import CHECKS
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture
from kapy.testing.conformance.rules import PROMISES, RULES
from tests.contract.breaks.broken import Break
from tests.contract.breaks.catalogue import BREAKS
from tests.contract.breaks.kit import BAD_DAYS, Case, cases, is_by_hand, is_static
from tests.contract.breaks.runner import ROOT, node_of, run, source_of
from tests.contract.test_rules import names_of_tests
from tests.testing.conformance import test_by_hand, test_faults, test_mutants
from tests.testing.conformance.behaviour import test_mutants as of_behaviour

T = TypeVar("T")
ALL: Final = bool(os.environ.get("KAPY_EVERY_RULE"))
SEED: Final = 20
_BROKEN: Final = {rule for entry in BREAKS for rules in entry.shown.values() for rule in rules}
_STATIC: Final = [rule for rule, case in cases().items() if is_static(case)]
_RUNNING: Final = [
    (rule, case) for rule, case in cases().items() if not is_static(case) and case.test != BAD_DAYS
]


def some(entries: Sequence[T], share: int) -> Sequence[T]:
    """All of them where that is asked for, else a part. share: 10 is a tenth."""
    return entries if ALL else Random(SEED).sample(list(entries), len(entries) // share)


def test_every_rule_has_a_test_that_fails_when_it_is_broken() -> None:
    broken = _BROKEN | set(cases())
    rules = {*RULES, *PROMISES}
    assert rules == broken


def _named(entry: Break) -> str:
    return entry.name


@pytest.mark.parametrize("entry", BREAKS, ids=_named)
def test_a_rule_can_be_broken_on_purpose(entry: Break) -> None:
    source = source_of(entry).read_text()
    assert source.count(entry.old) == 1, "the text must occur exactly once"
    ast.parse(source.replace(entry.old, entry.new))
    assert entry.shown
    for test in entry.shown:
        path, _, name = test.partition("::")
        assert name in names_of_tests(ROOT / "tests" / path), test


def test_breaks_have_names_of_their_own() -> None:
    assert len({entry.name for entry in BREAKS}) == len(BREAKS)


def test_a_test_in_a_class_is_found() -> None:
    node = node_of("clusterctl/move/test_rules.py::test_status_is_not_restored")
    assert node.count("::") == 2


@pytest.mark.slow
def test_breaks_are_noticed(tmp_path: Path) -> None:
    workers = (os.cpu_count() or 1) if ALL else 1
    outcomes = list(run(some(BREAKS, 30), tmp_path, workers=workers))
    assert [
        (outcome.broken.name, outcome.unseen, outcome.problem)
        for outcome in outcomes
        if not outcome.is_seen
    ] == []


def test_unbroken_rules_pass(tmp_path: Path) -> None:
    """The tests run against the changed copy, and a test that passes there is reported."""
    entry = Break("nothing", "contract/resolve.py", "the contract", "a contract", {_PLURALS: ()})
    (outcome,) = run([entry], tmp_path)
    assert (outcome.unseen, outcome.problem) == ([_PLURALS], "")


_PLURALS: Final = "kube/test_plural.py::test_kinds_have_plurals"


def nothing(_: Any) -> Iterator[Finding]:
    return iter(())


def test_the_kit_notices_every_broken_rule_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    unseen = []
    for rule in _STATIC:
        with monkeypatch.context() as patched:
            patched.setitem(CHECKS, rule, replace(CHECKS[rule], faults=nothing))
            try:
                test_mutants.test_a_wrong_provider_breaks_exactly_its_rule(rule, 0)
            except AssertionError:
                continue
            unseen.append(rule)
    assert unseen == []


async def _blind(_: Fixture) -> AsyncIterator[Finding]:
    for finding in list[Finding]():
        yield finding


def _without(checks: Sequence[Check], rule: str, case: Case) -> list[Check]:
    """Checks of which that of the rule sees nothing, and that of the same name for the case."""
    same = {rule, f"{case.role}/{rule.partition('/')[2]}"}
    return [replace(check, run=_blind) if check.rule in same else check for check in checks]


@pytest.mark.parametrize(
    ("rule", "case"), [pytest.param(*case, id=case[0]) for case in some(_RUNNING, 10)]
)
async def test_the_kit_notices_every_broken_rule_of_a_running_provider(
    monkeypatch: pytest.MonkeyPatch, rule: str, case: Case
) -> None:
    if is_by_hand(case):
        blind = _without(test_by_hand.CHECKS[case.role], rule, case)
        monkeypatch.setitem(test_by_hand.CHECKS, case.role, blind)
        judged = test_by_hand.test_a_wrong_provider_breaks_exactly_its_rule(case.role, case.wrong)
    else:
        monkeypatch.setattr(of_behaviour, "BEHAVIOUR", _without(BEHAVIOUR, rule, case))
        mutant = of_behaviour.WRONG[case.wrong]
        judged = of_behaviour.test_each_mutant_breaks_its_rule_and_no_other(case.role, mutant)
    with pytest.raises(AssertionError):
        await judged


async def test_the_kit_notices_rules_that_are_broken_under_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_days(*_: Any) -> None:
        """Skip the runs with faults."""

    monkeypatch.setattr(conformance_run, "add_fault_results", no_days)
    with pytest.raises(AssertionError):
        await test_faults.test_some_defects_need_injected_faults("bootstrap-config", "once")
