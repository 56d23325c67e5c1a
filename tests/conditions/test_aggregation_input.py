"""One Machine represents its group: conditions are as if each Machine were aggregated."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.conditions import v1beta1
from kapy.conditions.aggregation_input import (
    AggregationInput,
    Group,
    MemoCache,
    aggregation_input,
    group_of,
)
from kapy.conditions.machines import machines_ready, machines_up_to_date, remediating
from kapy.conditions.transitions import next_transition
from kapy.core.machinedeployment.status import rolling_out
from kapy.core.machineset.status import count
from kapy.kube import Document
from kapy.kube.meta import read

NOW = datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
TIME = "2026-01-01T00:00:00Z"
TYPES = ("Ready", "Available", "UpToDate", "NodeReady", "HealthCheckSucceeded", "OwnerRemediated")
STATES = [("True", ""), ("True", ""), ("True", "note"), ("False", "bad"), ("Unknown", "?"), None]


def machine(name: int, states: list[tuple[str, str] | None], *, deleting: bool) -> Machine:
    states_of = [(of, *state) for of, state in zip(TYPES, states, strict=True) if state is not None]
    conditions = [
        {"type": of, "status": status, "reason": "R", "message": text, "lastTransitionTime": TIME}
        for of, status, text in states_of
    ]
    old = [
        {"type": of, "status": status, "reason": "R", "lastTransitionTime": TIME}
        for of, status, _ in states_of
    ]
    metadata: Document = {"name": f"m{name}", "uid": f"u{name}", "creationTimestamp": TIME}
    if deleting:
        metadata["deletionTimestamp"] = TIME
    status = {
        "nodeRef": {"name": "n"},
        "conditions": conditions,
        "deprecated": {"v1beta1": {"conditions": old}},
    }
    return read({"metadata": metadata, "spec": SPEC, "status": status}, Machine)


SPEC: Document = {
    "clusterName": "c",
    "bootstrap": {},
    "infrastructureRef": {"apiGroup": "x.example.com", "kind": "T", "name": "t"},
}
WELL = st.just([("True", "")] * 5 + [None])
OUTDATED = st.sampled_from(["* Version v1.33.0, v1.34.0 required", "* Taints", "bad"]).map(
    lambda message: [("True", ""), ("True", ""), ("False", message), ("True", ""), None, None]
)
ANY = st.lists(st.sampled_from(STATES), min_size=len(TYPES), max_size=len(TYPES))
MACHINES = st.lists(
    st.tuples(st.one_of(WELL, OUTDATED, ANY), st.sampled_from([False] * 4 + [True]))
)


@given(MACHINES)
def test_aggregation_over_representatives_loses_nothing(
    given_machines: list[tuple[list[tuple[str, str] | None], bool]],
) -> None:
    machines = [
        machine(number, states, deleting=deleting)
        for number, (states, deleting) in enumerate(given_machines)
    ]
    item, grouped = aggregation_input(machines, {}), aggregation_input(machines, groups(machines))
    assert len(grouped.noteworthy) + grouped.ready_count == len(machines)
    assert machines_ready(grouped.representatives) == machines_ready(machines)
    assert machines_up_to_date(grouped, NOW) == machines_up_to_date(item, NOW)
    assert rolling_out(grouped) == rolling_out(item)
    assert remediating(grouped.representatives, "x") == remediating(machines, "x")
    assert next_transition(grouped.noteworthy, NOW) == next_transition(machines, NOW)
    if machines:
        assert aggregated(grouped.noteworthy, grouped.ready_count) == aggregated(machines, 0)
    assert counters(grouped, machines) == counters(item, machines)


def groups(machines: list[Machine]) -> dict[int, Group]:
    grouped = ((id(machine), group_of(machine)) for machine in machines)
    return {identity: group for identity, group in grouped if group is not None}


def counters(aggregation: AggregationInput, machines: list[Machine]) -> tuple[int | None, ...]:
    machine_set = read(
        {"spec": {"clusterName": "c", "selector": {}, "template": {"spec": SPEC}}}, MachineSet
    )
    count(machine_set, machines, aggregation)
    status = machine_set.status
    return status.ready_replicas, status.available_replicas, status.up_to_date_replicas


def aggregated(machines: list[Machine], ready: int) -> object:
    sources = []
    for item in machines:
        assert item.status.deprecated is not None
        assert item.status.deprecated.v1beta1 is not None
        condition = v1beta1.get(item.status.deprecated.v1beta1.conditions, "Ready")
        sources.append((condition, "Machine", item.metadata.name))
    return v1beta1.aggregate(sources, "MachinesReady", ready=ready)


def test_memoized_results_stay_while_the_document_is_the_same() -> None:
    memory, uids = MemoCache[str](), list[str]()

    def make(document: Document) -> str:
        uids.append(document["metadata"]["uid"])
        return str(document["metadata"]["uid"]).upper()

    a, b = ({"metadata": {"uid": uid}} for uid in "ab")
    assert memory.map([a, b], 1, make) == ["A", "B"]
    assert memory.map([b, {"metadata": {"uid": "a"}}], 1, make) == ["B", "A"]
    assert uids == ["a", "b", "a"]
    assert memory.map([b], 2, make) == ["B"]
    assert uids == ["a", "b", "a", "b"]
