"""Conditions as v1beta1 has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kapy.api.condition import V1Beta1Condition
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Bootstrap, Machine, MachineSpec
from kapy.conditions.v1beta1 import (
    ERROR,
    INFO,
    WARNING,
    aggregate,
    conditions_of,
    delete_condition,
    false,
    foreign_ready,
    get,
    mirror,
    set_condition,
    summary,
    true,
    unknown,
)
from kapy.kube.meta import to_document

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def machine() -> Machine:
    reference = ContractVersionedObjectReference(kind="DevMachine", name="m", api_group="g")
    spec = MachineSpec(cluster_name="c", bootstrap=Bootstrap(), infrastructure_ref=reference)
    return Machine(spec=spec)


def test_v1beta1_conditions_are_stored_as_deprecated_with_ready_first() -> None:
    value = machine()
    for type_ in ("NodeHealthy", "Ready", "BootstrapReady"):
        set_condition(conditions_of(value), true(type_), NOW)
    conditions = to_document(value)["status"]["deprecated"]["v1beta1"]["conditions"]
    assert [item["type"] for item in conditions] == ["Ready", "BootstrapReady", "NodeHealthy"]
    assert conditions[0] == {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_the_time_moves_with_anything_that_changes() -> None:
    conditions: list[V1Beta1Condition] = []
    set_condition(conditions, false("A", "Waiting", INFO, "for x"), NOW)
    set_condition(conditions, false("A", "Waiting", INFO, "for x"), LATER)
    assert conditions[0].last_transition_time == "2026-01-01T00:00:00Z"
    set_condition(conditions, false("A", "Waiting", INFO, "for y"), LATER)
    assert conditions[0].last_transition_time == "2026-01-01T00:01:00Z"
    set_condition(conditions, None, LATER)
    delete_condition(conditions, "A")
    assert conditions == []


BAD, WORSE, WORST = (
    false("A", "a", INFO, "1"),
    false("B", "b", WARNING, "2"),
    false("C", "c", ERROR),
)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([true("A"), true("B")], true("Ready")),
        ([true("D"), BAD], false("Ready", "a", INFO, "1")),
        ([BAD, WORSE, WORST], false("Ready", "c", ERROR, "")),
        ([unknown("D", "d", "?"), true("A")], true("Ready")),
        ([unknown("D", "d", "?")], unknown("Ready", "d", "?")),
        ([true("Ready")], None),
        ([], None),
    ],
)
def test_ready_summarizes_the_worst_condition_of_an_object(
    conditions: list[V1Beta1Condition], expected: V1Beta1Condition | None
) -> None:
    assert summary(conditions) == expected


def test_among_equals_the_first_type_asked_for_is_reported() -> None:
    equals = [false("A", "a", INFO), false("B", "b", INFO)]
    assert (summary(equals, ["B", "A"]) or BAD).reason == "b"
    assert (summary(equals) or BAD).reason == "a"


def test_a_step_counter_is_shown_while_all_conditions_are_steps() -> None:
    steps = [true("A"), false("B", "b", INFO, "said")]
    assert (summary(steps, counted_only=["A", "B"]) or BAD).message == "1 of 2 completed"
    others = [*steps, true("X")]
    assert (summary(others, counted_only=["A", "B"]) or BAD).message == "said"


def test_a_negative_condition_is_bad_when_it_is_true() -> None:
    condition = V1Beta1Condition(type="Broken", status="True", reason="r", severity=ERROR)
    assert (summary([condition], negative=["Broken"]) or BAD).status == "False"


def test_an_aggregate_names_the_objects_that_are_not_ready() -> None:
    beta1_condition = aggregate(
        [(true("Ready"), "Machine", "a"), (BAD, "Machine", "b"), (None, "Machine", "c")],
        "MachinesReady",
    )
    assert beta1_condition == false("MachinesReady", "a @ Machine/b", INFO, "1 of 3 completed")


def test_a_mirror_keeps_the_time_and_falls_back_on_the_reported_condition() -> None:
    conditions: list[V1Beta1Condition] = []
    set_condition(conditions, true("Ready"), NOW)
    beta1_condition = mirror(get(conditions, "Ready"), "InfrastructureReady")
    assert beta1_condition is not None
    assert (beta1_condition.type, beta1_condition.last_transition_time) == (
        "InfrastructureReady",
        "2026-01-01T00:00:00Z",
    )
    fallback = false("x", "WaitingForInfrastructure", INFO)
    assert mirror(None, "InfrastructureReady", fallback) == false(
        "InfrastructureReady", "WaitingForInfrastructure", INFO
    )
    assert mirror(None, "InfrastructureReady") is None


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([{"type": "Ready", "status": "True"}], ("True", "")),
        ([{"type": "Ready", "status": "False", "reason": "Slow"}], ("False", "Slow")),
        ([{"type": "Other", "status": "True"}], None),
        ([{"type": "Ready", "status": "Perhaps"}], None),
        ([{"type": "Ready", "status": True}], None),
        ([{"type": "Ready", "status": "True", "lastTransitionTime": "today"}], None),
        ([{"type": "Ready", "status": "False", "reason": "x" * 300}], None),
        (["Ready"], None),
        ("Ready", None),
    ],
)
def test_the_ready_condition_of_a_provider_is_mirrored(
    conditions: object, expected: tuple[str, str] | None
) -> None:
    ready = foreign_ready({"status": {"conditions": conditions}})
    assert (None if ready is None else (ready.status, ready.reason)) == expected
