"""Tests of the v1beta1 status of a MachineSet."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet, MachineSetV1Beta1DeprecatedStatus
from kapy.conditions import v1beta1
from kapy.conditions.aggregation_input import AggregationInput, Group, aggregation_input
from kapy.core.machineset.scope import MachineSetScope
from kapy.core.machineset.status import update_status_v1beta1
from kapy.kube import Document
from kapy.kube.meta import read

DOWN = "False Warning ScalingDown Scaling down MachineSet to 0 replicas (actual 2)"
UP = "False Warning ScalingUp Scaling up MachineSet to 2 replicas (actual 1)"
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
REFERENCE = {"apiGroup": "x.example.com", "kind": "ThingTemplate", "name": "t"}
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
WAITING = {
    **READY,
    "status": "False",
    "severity": "Info",
    "reason": "WaitingForBootstrapData",
    "message": "later",
}


@dataclass
class Scope:
    """The inputs of the v1beta1 status."""

    machine_set: MachineSet
    machines: list[Machine] | None
    not_created: V1Beta1Condition | None = None
    now: datetime = NOW
    groups: dict[int, Group] = field(default_factory=dict)

    @property
    def aggregation_input(self) -> AggregationInput:
        return aggregation_input(self.machines or (), self.groups)


def machine(name: str, ready: Document = READY, since: str = "00", **labels: str) -> Machine:
    """A Machine whose Node is ready since so many seconds past midnight, if it is."""
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}
    status: Document = {"deprecated": {"v1beta1": {"conditions": [ready]}}}
    if since:
        time = f"2026-01-01T00:00:{since}Z"
        node = {"type": "NodeReady", "status": "True", "reason": "R", "message": ""}
        status["conditions"] = [{**node, "lastTransitionTime": time}]
        status["nodeRef"] = {"name": name}
    metadata = {"name": name, "labels": labels}
    return read({"metadata": metadata, "spec": spec, "status": status}, Machine)


def told(
    replicas: int, machines: list[Machine], *, deleting: bool = False, **parts: Any
) -> MachineSetV1Beta1DeprecatedStatus:
    template: Document = {
        "metadata": {"labels": {"pool": "a"}},
        "spec": {
            "clusterName": "c",
            "bootstrap": {},
            "infrastructureRef": REFERENCE,
            "minReadySeconds": 30,
        },
    }
    metadata: Document = {"name": "ms"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"clusterName": "c", "selector": {}, "replicas": replicas, "template": template}
    document = {"metadata": metadata, "spec": spec, "status": {"replicas": len(machines)}}
    machine_set = read(document, MachineSet)
    update_status_v1beta1(cast(MachineSetScope, Scope(machine_set, machines, **parts)))
    assert machine_set.status.deprecated is not None
    assert machine_set.status.deprecated.v1beta1 is not None
    return machine_set.status.deprecated.v1beta1


def shown(status: MachineSetV1Beta1DeprecatedStatus) -> dict[str, str]:
    return {
        condition.type: " ".join(
            filter(
                None, (condition.status, condition.severity, condition.reason, condition.message)
            )
        )
        for condition in status.conditions
    }


def test_machines_are_counted_by_their_nodes() -> None:
    machines = [
        machine("a", since="10", pool="a"),
        machine("b", since="50", pool="a", other="b"),
        machine("c", since="", pool="b"),
    ]
    result = told(3, machines)
    counts = (result.fully_labeled_replicas, result.ready_replicas, result.available_replicas)
    assert counts == (2, 2, 1)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            told(1, [machine("a")]),
            {
                "Ready": "True",
                "MachinesCreated": "True",
                "MachinesReady": "True",
                "Resized": "True",
            },
        ),
        (
            told(2, [machine("a")]),
            {
                "Ready": UP,
                "MachinesReady": "True",
                "Resized": UP,
            },
        ),
        (
            told(1, [machine("a"), machine("b")], deleting=True),
            {
                "Ready": DOWN,
                "MachinesCreated": "True",
                "MachinesReady": "True",
                "Resized": DOWN,
            },
        ),
        (
            told(2, [machine("a"), machine("b", WAITING, since="")]),
            {
                "Ready": ("False Info WaitingForBootstrapData @ Machine/b 1 of 2 completed"),
                "MachinesCreated": "True",
                "MachinesReady": "False Info WaitingForBootstrapData @ Machine/b 1 of 2 completed",
            },
        ),
        (
            told(
                1,
                [],
                not_created=v1beta1.false(
                    "MachinesCreated", "MachineCreationFailed", "Error", "no"
                ),
            ),
            {
                "Ready": "False Error MachineCreationFailed no",
                "MachinesCreated": "False Error MachineCreationFailed no",
                "MachinesReady": "True",
                "Resized": "False Warning ScalingUp Scaling up MachineSet to 1 replicas (actual 0)",
            },
        ),
    ],
)
def test_v1beta1_conditions_follow_the_machines(
    status: MachineSetV1Beta1DeprecatedStatus, expected: dict[str, str]
) -> None:
    assert shown(status) == expected


def test_unread_machines_change_nothing() -> None:
    spec = {
        "clusterName": "c",
        "selector": {},
        "replicas": 1,
        "template": {"spec": {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}},
    }
    machine_set = read({"metadata": {"name": "ms"}, "spec": spec}, MachineSet)
    update_status_v1beta1(cast(MachineSetScope, Scope(machine_set, None)))
    assert machine_set.status.deprecated is None
