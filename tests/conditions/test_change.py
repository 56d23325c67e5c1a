"""Writing conditions to an object."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.conditions import delete_condition, false, get, set_condition, true
from kapy.kube.meta import read

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


def a_machine() -> Machine:
    ref = {"apiGroup": "g", "kind": "K", "name": "n"}
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": ref}
    return read({"metadata": {"name": "m", "generation": 3}, "spec": spec}, Machine)


def times(machine: Machine) -> dict[str, str]:
    return {
        condition.type: condition.last_transition_time for condition in machine.status.conditions
    }


def test_a_new_condition_gets_the_time_and_the_generation() -> None:
    machine = a_machine()
    assert set_condition(machine, true("Ready", "Ready"), NOW)
    assert machine.status.conditions == [
        Condition(
            type="Ready",
            status="True",
            reason="Ready",
            message="",
            last_transition_time="2026-01-01T12:00:00Z",
            observed_generation=3,
        )
    ]


def test_only_another_status_is_a_transition() -> None:
    machine = a_machine()
    set_condition(machine, true("Ready", "Ready"), NOW)
    assert set_condition(machine, true("Ready", "Ready", "news"), LATER)
    assert times(machine) == {"Ready": "2026-01-01T12:00:00Z"}
    assert set_condition(machine, false("Ready", "NotReady"), LATER)
    assert times(machine) == {"Ready": "2026-01-01T12:05:00Z"}


def test_setting_an_equal_condition_changes_nothing() -> None:
    machine = a_machine()
    set_condition(machine, true("Ready", "Ready"), NOW)
    assert not set_condition(machine, true("Ready", "Ready"), LATER)


def test_a_mirrored_time_is_kept_in_whole_seconds() -> None:
    machine = a_machine()
    mirrored = true("NodeReady", "NodeReady")
    mirrored.last_transition_time = "2025-12-31T23:59:59.75Z"
    set_condition(machine, mirrored, NOW)
    assert times(machine) == {"NodeReady": "2025-12-31T23:59:59Z"}


def test_set_condition_copies_its_argument() -> None:
    machine = a_machine()
    ready = true("Ready", "Ready")
    set_condition(machine, ready, NOW)
    ready.message = "changed afterwards"
    condition = get(machine.status.conditions, "Ready")
    assert condition is not None
    assert condition.message == ""


def test_conditions_are_sorted() -> None:
    machine = a_machine()
    for type_ in ("Deleting", "Paused", "MyGate", "Ready", "AnotherGate", "Available", "NodeReady"):
        set_condition(machine, true(type_, "R"), NOW)
    assert list(times(machine)) == [
        "Available",
        "Ready",
        "NodeReady",
        "AnotherGate",
        "MyGate",
        "Paused",
        "Deleting",
    ]


def test_a_condition_can_be_removed() -> None:
    machine = a_machine()
    set_condition(machine, true("Ready", "R"), NOW)
    set_condition(machine, true("Paused", "R"), NOW)
    delete_condition(machine, "Ready")
    assert list(times(machine)) == ["Paused"]
