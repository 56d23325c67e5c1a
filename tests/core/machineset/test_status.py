"""The counters and conditions of a MachineSet."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.conditions.aggregation_input import AggregationInput, aggregation_input
from kapy.core.machineset.scope import MachineSetScope
from kapy.core.machineset.status import count, deleting, scaling_down, scaling_up
from kapy.kube import Document
from kapy.kube.meta import read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REFERENCE = {"apiGroup": "x.example.com", "kind": "ThingTemplate", "name": "t"}


@dataclass
class Scope:
    """The inputs of a MachineSet's conditions."""

    machine_set: MachineSet
    now: datetime = NOW
    bootstrap_missing: bool = False
    infrastructure_missing: bool = False
    blocked: list[str] = field(default_factory=list)
    machines: list[Machine] = field(default_factory=list)

    @property
    def aggregation_input(self) -> AggregationInput:
        return aggregation_input(self.machines, {})


def scope(replicas: int | None, *, deleting: bool = False, **observed: Any) -> MachineSetScope:
    metadata: Document = {"name": "ms"}
    if deleting:
        metadata["deletionTimestamp"] = stamp(NOW)
    template = {
        "spec": {
            "clusterName": "c",
            "bootstrap": {"configRef": REFERENCE},
            "infrastructureRef": REFERENCE,
        }
    }
    spec: Document = {"clusterName": "c", "selector": {}, "template": template}
    if replicas is not None:
        spec["replicas"] = replicas
    machine_set = read({"metadata": metadata, "spec": spec}, MachineSet)
    return cast(MachineSetScope, Scope(machine_set, **observed))


def machine(name: str, *true: str, deleted: timedelta | None = None, **metadata: Any) -> Machine:
    if deleted is not None:
        metadata["deletionTimestamp"] = stamp(NOW - deleted)
    spec = {
        "clusterName": "c",
        "bootstrap": {},
        "infrastructureRef": REFERENCE,
        "version": "v1.34.0",
    }
    conditions = [{"type": of, "status": "True", "reason": "R", "message": ""} for of in true]
    document = {
        "metadata": {"name": name, **metadata},
        "spec": spec,
        "status": {"conditions": conditions},
    }
    return read(document, Machine)


def test_machines_are_counted_by_their_conditions() -> None:
    machine_set = scope(3).machine_set
    updating = {Annotation.UPDATE_IN_PROGRESS: ""}
    machines = [
        machine("a", "Ready", "Available", "UpToDate"),
        machine("b", "Ready"),
        machine("c", "Ready", "Available", "UpToDate", annotations=updating),
    ]
    count(machine_set, machines, aggregation_input(machines, {}))
    status = machine_set.status
    assert (status.replicas, status.ready_replicas) == (3, 2)
    assert (status.available_replicas, status.up_to_date_replicas) == (1, 1)
    assert [(version.version, version.replicas) for version in status.versions] == [("v1.34.0", 3)]


@pytest.mark.parametrize(
    ("set_scope", "current", "status", "message"),
    [
        (scope(None), 0, "Unknown", "Waiting for spec.replicas set"),
        (scope(3), 3, "False", ""),
        (scope(3), 1, "True", "Scaling up from 1 to 3 replicas"),
        (
            scope(1, bootstrap_missing=True),
            1,
            "False",
            "Scaling up would be blocked because ThingTemplate does not exist",
        ),
        (
            scope(2, bootstrap_missing=True, infrastructure_missing=True, blocked=["no"]),
            1,
            "True",
            "Scaling up from 1 to 2 replicas is blocked because:\n"
            "* no\n* ThingTemplate and ThingTemplate do not exist",
        ),
        (scope(2, deleting=True, bootstrap_missing=True), 1, "False", ""),
    ],
)
def test_scaling_up_reports_the_missing_machines(
    set_scope: MachineSetScope, current: int, status: str, message: str
) -> None:
    result = scaling_up(set_scope, current)
    assert (result.status, result.message) == (status, message)


def test_scaling_down_names_machines_that_take_long() -> None:
    machines = [machine("a"), machine("b", deleted=timedelta(minutes=16))]
    assert scaling_down(scope(1, machines=machines), machines).message == (
        "Scaling down from 2 to 1 replicas\n* Machine b is in deletion since more than 15m"
    )
    assert scaling_down(scope(2, machines=machines), machines).status == "False"
    moved = machine("c", annotations={Annotation.PENDING_ACKNOWLEDGE_MOVE: ""})
    present = [*machines, moved]
    assert scaling_down(scope(2, machines=present), present).status == "False"


def test_the_deleting_condition_counts_the_remaining_machines() -> None:
    assert deleting(scope(2), []).status == "False"
    removal = scope(2, deleting=True)
    assert deleting(removal, [machine("a"), machine("b")]).message == "Deleting 2 Machines"
    assert deleting(removal, [machine("a")]).message == "Deleting 1 Machine"
    assert deleting(removal, []).message == "Deletion completed"
