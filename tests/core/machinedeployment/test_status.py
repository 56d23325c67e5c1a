"""The counters, the phase and the conditions of a MachineDeployment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.times import stamp
from kapy.conditions.aggregation_input import AggregationInput, aggregation_input
from kapy.core.machinedeployment.scope import MachineDeploymentScope
from kapy.core.machinedeployment.status import (
    available,
    count,
    deleting,
    phase,
    rolling_out,
    scaling_down,
    scaling_up,
)
from kapy.kube import Document
from kapy.kube.meta import read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REFERENCE = {"apiGroup": "x.example.com", "kind": "T", "name": "t"}
TEMPLATE: Document = {"spec": {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}}
SPEC: Document = {"clusterName": "c", "selector": {}, "template": TEMPLATE}


@dataclass
class Scope:
    """The inputs of a MachineDeployment's conditions."""

    deployment: MachineDeployment
    machine_sets: list[MachineSet] | None
    machines: list[Machine] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    broken: str = ""
    now: datetime = NOW

    @property
    def aggregation_input(self) -> AggregationInput:
        return aggregation_input(self.machines, {})


def deployment(replicas: int | None, *, deleting: bool = False, **status: Any) -> MachineDeployment:
    update = {"maxSurge": 1, "maxUnavailable": 1}
    strategy = {"type": "RollingUpdate", "rollingUpdate": update}
    spec = {**SPEC, "rollout": {"strategy": strategy}}
    if replicas is not None:
        spec["replicas"] = replicas
    metadata: Document = {"name": "md"}
    if deleting:
        metadata["deletionTimestamp"] = stamp(NOW)
    return read({"metadata": metadata, "spec": spec, "status": status}, MachineDeployment)


def machine_set(replicas: int | None, **status: Any) -> MachineSet:
    if replicas is not None:
        status["replicas"] = replicas
    return read({"metadata": {"name": "ms"}, "spec": SPEC, "status": status}, MachineSet)


def machine(name: str, *, outdated: str = "", up_to_date: bool = True) -> Machine:
    status = "False" if outdated else "True"
    condition = {"type": "UpToDate", "status": status, "reason": "R", "message": outdated}
    return read(
        {
            "metadata": {"name": name},
            "spec": {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE},
            "status": {"conditions": [condition] if up_to_date else []},
        },
        Machine,
    )


def scope(of: MachineDeployment, *sizes: int, **more: Any) -> MachineDeploymentScope:
    sets = [machine_set(size) for size in sizes]
    return cast(MachineDeploymentScope, Scope(of, sets, **more))


def test_counters_are_sums_and_unknown_without_values() -> None:
    item = deployment(3)
    count(item.status, [machine_set(2, readyReplicas=1), machine_set(1)])
    assert (item.status.replicas, item.status.ready_replicas) == (3, 1)
    assert item.status.available_replicas is None


@pytest.mark.parametrize(
    ("of", "sizes", "expected"),
    [
        (deployment(None), [1], "Unknown"),
        (deployment(3), [2, 1], "Running"),
        (deployment(3), [], "ScalingUp"),
        (deployment(1), [2, 1], "ScalingDown"),
        (deployment(3, deleting=True), [], "ScalingDown"),
    ],
)
def test_the_phase_follows_the_replicas(
    of: MachineDeployment, sizes: list[int], expected: str
) -> None:
    assert phase(of, [machine_set(size) for size in sizes]) == expected
    assert phase(of, None) == "Unknown"


@pytest.mark.parametrize(
    ("of", "status", "reason", "message"),
    [
        (deployment(None), "Unknown", "WaitingForReplicasSet", "Waiting for spec.replicas set"),
        (
            deployment(3),
            "Unknown",
            "WaitingForAvailableReplicasSet",
            "Waiting for status.availableReplicas set",
        ),
        (deployment(3, availableReplicas=2), "True", "Available", ""),
        (
            deployment(3, availableReplicas=1),
            "False",
            "NotAvailable",
            "1 available replicas, at least 2 required "
            "(spec.strategy.rollout.maxUnavailable is 1, spec.replicas is 3)",
        ),
        (
            deployment(3, deleting=True, availableReplicas=1),
            "False",
            "NotAvailable",
            "Deletion in progress",
        ),
    ],
)
def test_available_follows_the_ready_replicas(
    of: MachineDeployment, status: str, reason: str, message: str
) -> None:
    result = available(scope(of))
    assert (result.status, result.reason, result.message) == (status, reason, message)


def test_a_rollout_names_its_reasons_versions_first() -> None:
    machines = [
        machine("a", outdated="* Failure domain a, b required\n* Version v1, v2 required"),
        machine("b", outdated="* Version v1, v2 required"),
        machine("c"),
        machine("d", up_to_date=False),
    ]
    assert rolling_out(aggregation_input(machines, {})).message == (
        "Rolling out 2 not up-to-date replicas\n"
        "* Version v1, v2 required\n* Failure domain a, b required"
    )
    assert rolling_out(aggregation_input([machine("c")], {})).status == "False"


def test_scaling_conditions_follow_the_replicas() -> None:
    item = deployment(3)
    assert scaling_up(scope(item, 1)).message == "Scaling up from 1 to 3 replicas"
    assert scaling_up(scope(item, 1, missing=["A", "B"])).message == (
        "Scaling up from 1 to 3 replicas is blocked because A and B do not exist"
    )
    assert scaling_up(scope(item, 3, missing=["A"])).message == (
        "Scaling up would be blocked because A does not exist"
    )
    assert scaling_down(scope(item, 3)).status == "False"
    assert scaling_down(scope(item, 3, 1)).message == "Scaling down from 4 to 3 replicas"


def test_deleting_counts_the_remaining_machines() -> None:
    removal = deployment(1, deleting=True)
    assert deleting(scope(deployment(1))).status == "False"
    assert deleting(scope(removal, 1, machines=[machine("a")])).message == "Deleting 1 Machine"
    assert deleting(scope(removal, 0)).message == "Deleting 1 MachineSets"
    assert deleting(scope(removal)).message == "Deletion completed"


def test_unread_machine_sets_make_conditions_unknown() -> None:
    unread = cast(MachineDeploymentScope, Scope(deployment(1), None))
    for condition in (available(unread), scaling_up(unread), deleting(unread)):
        assert (condition.status, condition.reason) == ("Unknown", "InternalError")
