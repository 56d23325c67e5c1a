"""Tests of the v1beta1 status of a MachineDeployment."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.core.machinedeployment.status import report_rollout, summarize
from kapy.kube import Document
from kapy.kube.meta import read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEMPLATE: Document = {
    "spec": {
        "clusterName": "c",
        "bootstrap": {},
        "infrastructureRef": {"apiGroup": "x.example.com", "kind": "T", "name": "t"},
    }
}
NOT_AVAILABLE = (
    "False Warning WaitingForAvailableMachines "
    "Minimum availability requires 3 replicas, current 1 available"
)


def deployment(replicas: int, available: int = 0) -> MachineDeployment:
    spec = {"clusterName": "c", "selector": {}, "template": TEMPLATE, "replicas": replicas}
    status = {"availableReplicas": available}
    return read({"metadata": {"name": "md"}, "spec": spec, "status": status}, MachineDeployment)


def machine_set(name: str, replicas: int, available: int, *, ready: str = "") -> MachineSet:
    spec = {"clusterName": "c", "selector": {}, "template": TEMPLATE, "replicas": replicas}
    old: Document = {"readyReplicas": available, "availableReplicas": available}
    if ready:
        time = "2026-01-01T00:00:00Z"
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": time}
        old["conditions"] = [condition]
    status = {"replicas": replicas, "deprecated": {"v1beta1": old}}
    return read({"metadata": {"name": name}, "spec": spec, "status": status}, MachineSet)


@pytest.mark.parametrize(
    ("of", "sets", "counts", "conditions"),
    [
        (
            deployment(3),
            [machine_set("new", 3, 3, ready="True")],
            (3, 3, 3, 0),
            {"Ready": "True", "Available": "True", "MachineSetReady": "True"},
        ),
        (
            deployment(3, available=1),
            [machine_set("new", 2, 1), machine_set("old", 2, 1)],
            (2, 2, 2, 2),
            {
                "Ready": NOT_AVAILABLE,
                "Available": NOT_AVAILABLE,
                "MachineSetReady": "False Info WaitingForMachineSet",
            },
        ),
        (
            deployment(0),
            [],
            (0, 0, 0, 0),
            {
                "Ready": "True",
                "Available": "True",
                "MachineSetReady": "False Info WaitingForMachineSet MachineSet not found",
            },
        ),
    ],
)
def test_a_rollout_is_reported(
    of: MachineDeployment,
    sets: list[MachineSet],
    counts: tuple[int, ...],
    conditions: dict[str, str],
) -> None:
    report_rollout(of, sets[0] if sets else None, sets, NOW)
    summarize(of, NOW)
    assert of.status.deprecated is not None
    v1beta1 = of.status.deprecated.v1beta1
    assert v1beta1 is not None
    assert counts == (
        v1beta1.updated_replicas,
        v1beta1.ready_replicas,
        v1beta1.available_replicas,
        v1beta1.unavailable_replicas,
    )
    assert conditions == {
        condition.type: " ".join(
            filter(
                None, (condition.status, condition.severity, condition.reason, condition.message)
            )
        )
        for condition in v1beta1.conditions
    }


def test_nothing_is_reported_before_the_first_step() -> None:
    of = deployment(1)
    summarize(of, NOW)
    assert of.status.deprecated is None
