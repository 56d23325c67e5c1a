"""One quiet Machine speaks for all: what is summed up is the same as if all were looked at."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kapy.api.machine import Machine
from kapy.conditions import v1beta1
from kapy.conditions.aggregation_input import MemoCache, aggregation_input, is_healthy_and_silent
from kapy.conditions.machines import machines_ready, machines_up_to_date, remediating
from kapy.conditions.transitions import next_transition
from kapy.kube import Document
from kapy.kube.meta import read

NOW = datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
TIME = "2026-01-01T00:00:00Z"
TYPES = ("Ready", "Available", "UpToDate", "NodeReady", "HealthCheckSucceeded", "OwnerRemediated")
STATES = [("True", ""), ("True", ""), ("True", "note"), ("False", "bad"), ("Unknown", "?"), None]


def machine(name: int, states: list[tuple[str, str] | None], *, deleting: bool) -> Machine:
    told = [(of, *state) for of, state in zip(TYPES, states, strict=True) if state is not None]
    conditions = [
        {"type": of, "status": status, "reason": "R", "message": text, "lastTransitionTime": TIME}
        for of, status, text in told
    ]
    old = [
        {"type": of, "status": status, "reason": "R", "lastTransitionTime": TIME}
        for of, status, _ in told
    ]
    metadata: Document = {"name": f"m{name}", "uid": f"u{name}", "creationTimestamp": TIME}
    if deleting:
        metadata["deletionTimestamp"] = TIME
    nothing = {"apiGroup": "x.example.com", "kind": "T", "name": "t"}
    status = {
        "nodeRef": {"name": "n"},
        "conditions": conditions,
        "deprecated": {"v1beta1": {"conditions": old}},
    }
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": nothing}
    return read({"metadata": metadata, "spec": spec, "status": status}, Machine)


WELL = st.just([("True", "")] * 5 + [None])
ANY = st.lists(st.sampled_from(STATES), min_size=len(TYPES), max_size=len(TYPES))
MACHINES = st.lists(st.tuples(st.one_of(WELL, ANY), st.sampled_from([False] * 4 + [True])))


@given(MACHINES)
def test_nothing_is_lost(given_machines: list[tuple[list[tuple[str, str] | None], bool]]) -> None:
    machines = [
        machine(number, states, deleting=deleting)
        for number, (states, deleting) in enumerate(given_machines)
    ]
    found = aggregation_input(machines, {id(one) for one in machines if is_healthy_and_silent(one)})
    assert len(found.noteworthy) + found.healthy_count == len(machines)
    assert machines_ready(found.representatives) == machines_ready(machines)
    assert machines_up_to_date(found.representatives, NOW) == machines_up_to_date(machines, NOW)
    assert remediating(found.representatives, "x") == remediating(machines, "x")
    assert next_transition(found.noteworthy, NOW) == next_transition(machines, NOW)
    if machines:
        assert aggregated(found.noteworthy, found.healthy_count) == aggregated(machines, 0)


def aggregated(machines: list[Machine], ready: int) -> object:
    sources = []
    for one in machines:
        assert one.status.deprecated is not None
        assert one.status.deprecated.v1beta1 is not None
        condition = v1beta1.get(one.status.deprecated.v1beta1.conditions, "Ready")
        sources.append((condition, "Machine", one.metadata.name))
    return v1beta1.aggregate(sources, "MachinesReady", ready=ready)


def test_what_was_made_of_a_document_is_kept_while_it_is_the_same() -> None:
    memory, made = MemoCache[str](), list[str]()

    def make(document: Document) -> str:
        made.append(document["metadata"]["uid"])
        return str(document["metadata"]["uid"]).upper()

    a, b = ({"metadata": {"uid": uid}} for uid in "ab")
    assert memory.map([a, b], 1, make) == ["A", "B"]
    assert memory.map([b, {"metadata": {"uid": "a"}}], 1, make) == ["B", "A"]
    assert made == ["a", "b", "a"]
    assert memory.map([b], 2, make) == ["B"]
    assert made == ["a", "b", "a", "b"]
