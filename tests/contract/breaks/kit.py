"""The tests that show that the conformance kit detects a breach of each rule for providers.

Each of these tests has a case with a provider that breaks one rule. If the kit does not check the
rule, the case fails. `tests/contract/test_breaks.py` tries that with every rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.behaviour.setup import ROLE_SETUPS
from kapy.testing.conformance.check_results import ONCE
from kapy.testing.conformance.rules import RULES
from tests.testing.conformance import test_by_hand, test_mutants
from tests.testing.conformance.behaviour import test_mutants as of_behaviour

_FILES: Final = "testing/conformance/test_mutants.py::test_a_wrong_provider_breaks_exactly_its_rule"
_BY_HAND: Final = (
    "testing/conformance/test_by_hand.py::test_a_wrong_provider_breaks_exactly_its_rule"
)
_RUNNING: Final = (
    "testing/conformance/behaviour/test_mutants.py::test_each_mutant_breaks_its_rule_and_no_other"
)
BAD_DAYS: Final = "testing/conformance/test_faults.py::test_some_defects_need_injected_faults"
_MACHINE: Final = "infra-machine"


class Case(NamedTuple):
    """A case of a test. role: the role of the provider that breaks the rule. wrong: its mistake."""

    test: str
    role: str = ""
    wrong: str = ""


def is_static(case: Case) -> bool:
    """Whether a provider's files break the rule."""
    return case.test == _FILES


def is_by_hand(case: Case) -> bool:
    """Whether a provider that is written without the SDK breaks the rule."""
    return case.test == _BY_HAND


@cache
def cases() -> Mapping[str, Case]:
    """By the id of the rule, the case that shows its breach."""
    results = {rule: Case(_FILES) for rule in test_mutants.MUTANTS}
    for name, mutant in of_behaviour.WRONG.items():
        for role in mutant.of:
            for text in mutant.breaks:
                results.setdefault(
                    text if text in RULES else f"{role}/{text}", Case(_RUNNING, role, name)
                )
    for role, entry in test_by_hand.WRONG.items():
        document = "ipam" if role == _MACHINE else role  # machines that take addresses
        for wrong in entry:
            rule = wrong.partition(": ")[0]
            rule = "release" if (role, rule) == ("ipam", "deletion") else rule
            results.setdefault(f"{document}/{rule}", Case(_BY_HAND, role, wrong))
    for check in BEHAVIOUR:  # those that all parts have alike have one provider that breaks them
        if check.name in test_by_hand.OF_ALL_PARTS and check.rule not in results:
            results[check.rule] = results[f"{_MACHINE}/{check.name}"]
    return results | {f"{part}/{ONCE}": Case(BAD_DAYS) for part in ROLE_SETUPS}
