"""The cases of `python -m tests.functions`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.functions.functions import ADMISSION, ANSWERS, CONVERSION, function, recorded_functions
from tests.functions.mutations import FIXED, Mutations
from tests.functions.template_calls import template_calls

GIVEN: list[dict[str, Any]] = [
    {"kind": "Machine", "object": {"spec": {"version": "v1.30.0", "taints": [{"key": "a"}]}}},
    {"kind": "Machine", "object": {"spec": {"version": "v1.31.0-rc.1", "paused": True}}},
]


def test_only_some_kinds_of_objects_are_recorded_elsewhere() -> None:
    missing = set(ANSWERS) - set(recorded_functions())
    assert {name.partition("/")[0] for name in missing} <= {ADMISSION, CONVERSION}


@pytest.mark.parametrize("name", recorded_functions())
def test_each_function_has_recorded_arguments_without_answers(name: str) -> None:
    selected = function(name)
    assert selected.given
    assert not any(set(ANSWERS[name]) & case.keys() for case in selected.given)


def test_a_seed_makes_the_same_cases_and_another_one_others() -> None:
    first, same, others = (list(Mutations(GIVEN, seed).cases(50)) for seed in (1, 1, 2))
    assert first == same
    assert first != others


def test_a_case_changes_a_copy_and_keeps_the_selecting_fields() -> None:
    before = deepcopy(GIVEN)
    cases = list(Mutations(GIVEN, 3).cases(200))
    assert before == GIVEN
    assert "kind" in FIXED
    assert {case["kind"] for case in cases} == {"Machine"}
    assert sum(case not in GIVEN for case in cases) > 100


def test_every_function_of_templates_is_called() -> None:
    templates = {case["template"] for case in template_calls(1)}
    assert "{{ toJson .missing }}" in templates
    assert "{{ merge .null }}" in templates
    assert not any(template.startswith("{{ now") for template in templates)
