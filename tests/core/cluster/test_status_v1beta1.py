"""The v1beta1 conditions of a Cluster: parts, fallbacks, and what becomes of them at its end."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.conditions.v1beta1 import conditions_of
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version, View
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.cluster.scope import ClusterScope, Descendants
from kapy.core.cluster.status_v1beta1 import update_v1beta1_status
from kapy.kube import Document
from kapy.kube.meta import read
from tests.core.cluster.test_status import NOW, REFERENCE, cluster, thing

WORKERS = "WaitingForWorkersDeletion"
CONTROL_PLANE = "WaitingForControlPlaneDeletion"
INFRA, PLANE = "InfrastructureReady", "ControlPlaneReady"
OLD = Version.V1BETA1


def told(of: Cluster, **observed: Any) -> dict[str, str]:
    """Each condition after a look, as `Status` or `Status Reason`."""

    class Scope:
        now = NOW
        cluster = of
        awaits_topology = False
        infrastructure = observed.get("infrastructure", Absent())
        control_plane = observed.get("control_plane", Absent())
        descendants = observed.get("descendants", Descendants())
        deleting = (observed.get("deleting", ""), "")

    update_v1beta1_status(cast(ClusterScope, Scope()))
    return {
        condition.type: f"{condition.status} {condition.reason}".strip()
        for condition in conditions_of(of)
    }


def infra(*conditions: Document, **status: Any) -> Found[InfraCluster]:
    return Found(InfraCluster(thing(*conditions, **status), OLD))


def plane(*conditions: Document, **status: Any) -> Found[ControlPlane]:
    return Found(ControlPlane(thing(*conditions, **status), OLD))


def ready(status: str, reason: str = "", severity: str = "") -> Document:
    time = "2026-01-01T00:00:00Z"
    results = {"type": "Ready", "status": status, "reason": reason, "severity": severity}
    return {**results, "lastTransitionTime": time}


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        ({"infrastructure": infra()}, {INFRA: "False WaitingForInfrastructure"}),
        ({"infrastructure": infra(ready=True)}, {INFRA: "True"}),
        ({"infrastructure": infra(ready("False", "Quota", "Error"))}, {INFRA: "False Quota"}),
        ({"infrastructure": infra(ready="yes")}, {INFRA: None}),
        ({"infrastructure": infra(ready("Maybe"), ready=True)}, {INFRA: "True"}),
        ({"infrastructure": Absent()}, {INFRA: None}),
        ({"infrastructure": Unreadable(RuntimeError())}, {INFRA: None}),
        ({"control_plane": plane()}, {PLANE: "False WaitingForControlPlane"}),
        (
            {"control_plane": plane(initialized=True)},
            {PLANE: "True", "ControlPlaneInitialized": "True", "Ready": "True"},
        ),
        (
            {"control_plane": plane(), "infrastructure": infra(ready=True)},
            {"Ready": "False WaitingForControlPlane"},
        ),
        (
            {"control_plane": plane(ready("True")), "infrastructure": infra(ready("True"))},
            {"Ready": "True"},
        ),
    ],
)
def test_conditions_follow_the_state_of_the_parts(
    observed: Any, expected: dict[str, str | None]
) -> None:
    results = told(cluster(), **observed)
    assert {of: results.get(of) for of in expected} == expected


def test_once_initialized_is_always_initialized() -> None:
    value = cluster()
    told(value, control_plane=plane(initialized=True))
    assert told(value, control_plane=plane())["ControlPlaneInitialized"] == "True"


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        ({"infrastructure": infra(ready=True)}, {INFRA: "False Deleting"}),
        ({"infrastructure": infra(ready("True"))}, {INFRA: "True"}),
        ({"deleting": WORKERS}, {INFRA: None, PLANE: None}),
        ({"deleting": CONTROL_PLANE}, {INFRA: None, PLANE: "False Deleted"}),
        ({}, {INFRA: "False Deleted", PLANE: "False Deleted", "Ready": "False Deleted"}),
    ],
)
def test_conditions_of_a_deleting_cluster_tell_the_remaining_parts(
    observed: Any, expected: dict[str, str | None]
) -> None:
    results = told(cluster(deleting=True), **observed)
    assert {of: results.get(of) for of in expected} == expected


@pytest.mark.parametrize(
    ("node", "deleting", "expected"),
    [
        (False, False, "False MissingNodeRef"),
        (True, False, "True"),
        (True, True, "False MissingNodeRef"),
    ],
)
def test_without_a_control_plane_object_its_machines_are_summarized(
    node: bool, deleting: bool, expected: str
) -> None:
    value = cluster()
    value.spec.control_plane_ref = value.spec.infrastructure_ref = None
    metadata = {"name": "m", "labels": {Label.CONTROL_PLANE: ""}}
    machine = read(
        {
            "metadata": {**metadata, **({"deletionTimestamp": "x"} if deleting else {})},
            "spec": {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE},
            "status": {"nodeRef": {"name": "n"}} if node else {},
        },
        Machine,
    )
    results = told(value, descendants=Descendants(control_plane=[machine]))
    assert results["ControlPlaneInitialized"] == expected
    assert results[INFRA] == "True"


def test_a_view_of_another_contract_reads_its_own_field() -> None:
    document = thing(initialization={"provisioned": True})
    view: View = InfraCluster(document)
    assert told(cluster(), infrastructure=Found(view))[INFRA] == "True"
