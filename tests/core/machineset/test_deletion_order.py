"""Tests of the order in which a MachineSet deletes Machines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.core.machineset.machines import UnknownOrder, deletion_order
from kapy.kube import Document
from kapy.kube.meta import read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REFERENCE = {"apiGroup": "x.example.com", "kind": "Thing", "name": "t"}


def machine(
    name: str, *, days: float = 1, node: bool = True, bad: str = "", **metadata: Any
) -> Machine:
    """A Machine that was created `days` ago; bad: a condition that is False."""
    condition = {"type": bad, "status": "False", "reason": "R", "message": ""}
    status: Document = {"conditions": [condition] if bad else []}
    if node:
        status["nodeRef"] = {"name": name}
    created = stamp(NOW - timedelta(days=days))
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}
    metadata = {"name": name, "creationTimestamp": created, **metadata}
    return read({"metadata": metadata, "spec": spec, "status": status}, Machine)


GOING = machine("going", deletionTimestamp=stamp(NOW), finalizers=["f"])
ASKED = machine("asked", annotations={Annotation.DELETE_MACHINE: "yes"})
UPDATING = machine("updating", annotations={Annotation.UPDATE_IN_PROGRESS: ""})
NO_NODE = machine("no-node", node=False)
NODE_BAD = machine("node-bad", bad="NodeHealthy")
CHECK_BAD = machine("check-bad", bad="HealthCheckSucceeded")
YOUNG, OLD = machine("a-young", days=1), machine("old", days=30)
AHEAD = machine("ahead", days=-1)
UNREADY = machine("unready", bad="Ready")


@pytest.mark.parametrize("order", ["", "Random", "Newest", "Oldest"])
@pytest.mark.parametrize("unhealthy", [NO_NODE, NODE_BAD, CHECK_BAD])
def test_every_order_begins_with_machines_in_deletion(order: str, unhealthy: Machine) -> None:
    machines = [YOUNG, unhealthy, UPDATING, ASKED, GOING]
    names = [item.metadata.name for item in deletion_order(machines, order, NOW)]
    assert names == ["going", "asked", "updating", unhealthy.metadata.name, "a-young"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("Oldest", ["old", "a-young", "unready", "ahead"]),
        ("Newest", ["ahead", "a-young", "unready", "old"]),
        ("Random", ["a-young", "ahead", "old", "unready"]),  # by name: the same every time
    ],
)
def test_healthy_machines_are_deleted_in_the_order(order: str, expected: list[str]) -> None:
    machines = deletion_order([YOUNG, OLD, AHEAD, UNREADY], order, NOW)
    assert [item.metadata.name for item in machines] == expected


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(UnknownOrder, match="Unsupported deletion order Biggest"):
        deletion_order([], "Biggest", NOW)
