"""The counters, the phase and the conditions of a Cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.times import stamp
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.cluster.counters import count_control_plane, count_workers
from kapy.core.cluster.references import (
    control_plane_available,
    infrastructure_ready,
    reporting_object,
)
from kapy.core.cluster.scope import ClusterScope, Descendants
from kapy.core.cluster.status import (
    SCALING_UP,
    available,
    control_plane_initialized,
    phase,
    remote_connection,
    rolling_out,
    scaling,
)
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.remote.cluster_cache import Health

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REFERENCE = {"apiGroup": "x.example.com", "kind": "Thing", "name": "c"}
LOGS = "Please check controller logs for errors"


@dataclass
class Scope:
    """The inputs of a Cluster's conditions."""

    cluster: Cluster
    infrastructure: Observed[InfraCluster] = field(default_factory=Absent)
    control_plane: Observed[ControlPlane] = field(default_factory=Absent)
    descendants: Descendants = field(default_factory=Descendants)
    health: Health = field(default_factory=lambda: Health(connected=False))
    now: datetime = NOW
    dependencies: Any = field(default_factory=lambda: SimpleNamespace(grace=timedelta(seconds=50)))


def cluster(*, deleting: bool = False, conditions: Any = (), **initialization: bool) -> Cluster:
    metadata: Document = {"name": "c", "namespace": "default"}
    if deleting:
        metadata["deletionTimestamp"] = stamp(NOW)
    return read(
        {
            "metadata": metadata,
            "spec": {"infrastructureRef": REFERENCE, "controlPlaneRef": REFERENCE},
            "status": {"initialization": initialization, "conditions": list(conditions)},
        },
        Cluster,
    )


def scope(of: Cluster, **observed: Any) -> ClusterScope:
    return cast(ClusterScope, Scope(of, **observed))


def thing(*conditions: Document, **status: Any) -> Document:
    return {
        "apiVersion": "x.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "c"},
        "status": {"conditions": list(conditions), **status},
    }


def condition(of: str, status: str, reason: str = "R", message: str = "") -> Document:
    return {"type": of, "status": status, "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("observed", "of", "expected"),
    [
        (
            Found(InfraCluster(thing())),
            cluster(),
            ("False", "NotReady", "Thing status.initialization.provisioned is false"),
        ),
        (
            Found(InfraCluster(thing())),
            cluster(infrastructureProvisioned=True),
            ("True", "Ready", ""),
        ),
        (
            Found(InfraCluster(thing(condition("Ready", "False", "Quota", "none left")))),
            cluster(),
            ("False", "Quota", "none left"),
        ),
        (Unreadable(RuntimeError()), cluster(), ("Unknown", "InternalError", LOGS)),
        (Absent(), cluster(), ("False", "ObjectDoesNotExist", "Thing does not exist")),
        (
            Absent(),
            cluster(infrastructureProvisioned=True),
            ("False", "ObjectDeleted", "Thing has been deleted while the cluster still exists"),
        ),
        (
            Absent(),
            cluster(deleting=True, infrastructureProvisioned=True),
            ("False", "ObjectDeleted", "Thing has been deleted"),
        ),
    ],
)
def test_infrastructure_ready_mirrors_the_infrastructure(
    observed: Observed[InfraCluster], of: Cluster, expected: tuple[str, str, str]
) -> None:
    ready = infrastructure_ready(scope(of, infrastructure=observed))
    assert (ready.status, ready.reason, ready.message) == expected


def test_control_plane_falls_back_on_its_field() -> None:
    observed = Found(ControlPlane(thing()))
    result = control_plane_available(scope(cluster(), control_plane=observed))
    assert result.message == "Thing status.initialization.controlPlaneInitialized is false"
    up = scope(cluster(controlPlaneInitialized=True), control_plane=observed)
    assert control_plane_available(up).status == "True"


def test_the_control_plane_status_is_mirrored() -> None:
    document = thing(
        condition("Available", "False", "NoQuorum", "two of three are down"),
        condition("Ready", "True"),
    )
    observed = Found(ControlPlane(document))
    result = control_plane_available(
        scope(cluster(controlPlaneInitialized=True), control_plane=observed)
    )
    assert (result.type, result.status) == ("ControlPlaneAvailable", "False")
    assert (result.reason, result.message) == ("NoQuorum", "two of three are down")


def test_initialized_is_read_through_the_contract() -> None:
    document = thing(initialization={"controlPlaneInitialized": True})
    observed = Found(ControlPlane(document))
    assert control_plane_initialized(scope(cluster(), control_plane=observed)).status == "True"
    broken = Found(ControlPlane(thing(initialization={"controlPlaneInitialized": "yes"})))
    result = control_plane_initialized(scope(cluster(), control_plane=broken))
    assert (result.status, result.reason) == ("Unknown", "InternalError")


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        (Health(connected=False), ("False", "Remote connection not established yet")),
        (Health(connected=False, failures=5), ("False", "Remote connection probe failed")),
        (Health(connected=True, last_success=NOW), ("True", "")),
        (Health(connected=False, last_success=NOW - timedelta(seconds=50)), ("True", "")),
        (
            Health(connected=False, last_success=NOW - timedelta(seconds=51)),
            (
                "False",
                "Remote connection probe failed, probe last succeeded at 2025-12-31T23:59:09Z",
            ),
        ),
    ],
)
def test_remote_connection_follows_the_probes(health: Health, expected: tuple[str, str]) -> None:
    of = cluster()
    connection = remote_connection(of, scope(of, health=health))
    assert connection is not None
    assert (connection.status, connection.message) == expected


def test_a_first_connection_that_is_still_tried_changes_nothing() -> None:
    of = cluster(conditions=[condition("RemoteConnectionProbe", "True")])
    assert remote_connection(of, scope(of, health=Health(connected=False, failures=4))) is None


def deployment(**conditions: str) -> MachineDeployment:
    template = {"spec": {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}}
    listed = [condition(of, status, message="why") for of, status in conditions.items()]
    return read(
        {
            "metadata": {"name": "md"},
            "spec": {"clusterName": "c", "selector": {}, "template": template, "replicas": 2},
            "status": {"conditions": listed, "replicas": 1},
        },
        MachineDeployment,
    )


def test_an_optional_report_of_the_control_plane_is_not_awaited() -> None:
    descendants = Descendants(deployments=[deployment(RollingOut="False", ScalingUp="True")])
    of = scope(cluster(), descendants=descendants)
    quiet = reporting_object(Found(ControlPlane(thing())))
    assert rolling_out(of, quiet).reason == "NotRollingOut"
    result = scaling(of, quiet, "ScalingUp", SCALING_UP)
    assert result.message == "* MachineDeployment md: why"

    busy = reporting_object(
        Found(ControlPlane(thing(condition("RollingOut", "True", message="one of three"))))
    )
    result = rolling_out(of, busy)
    assert (result.status, result.message) == ("True", "* Thing c: one of three")


def test_a_deleting_cluster_reports_no_errors_about_deleted_parts() -> None:
    conditions = [
        condition("Deleting", "True", "WaitingForInfrastructureDeletion", "almost"),
        condition("RemoteConnectionProbe", "True"),
        condition("InfrastructureReady", "False", "ObjectDeleted", "gone"),
        condition("ControlPlaneAvailable", "False", "ObjectDeleted", "gone"),
        condition("WorkersAvailable", "True"),
    ]
    assert available(cluster(deleting=True, conditions=conditions)).message == "* Deleting: almost"


def test_counters_of_both_contracts_are_summed() -> None:
    reported = {"readyReplicas": 2, "replicas": 3, "unavailableReplicas": 1}
    document = {**thing(**reported), "spec": {"replicas": 3}}
    counters = cluster()
    view = ControlPlane(document, Version.V1BETA1)
    count_control_plane(scope(counters, control_plane=Found(view)))
    assert counters.status.control_plane is not None
    assert counters.status.control_plane.available_replicas == 2
    assert counters.status.control_plane.desired_replicas == 3

    count_control_plane(scope(counters))
    assert counters.status.control_plane is not None
    assert counters.status.control_plane.desired_replicas is None

    count_workers(scope(counters, descendants=Descendants(deployments=[deployment()])))
    assert counters.status.workers is not None
    assert (counters.status.workers.desired_replicas, counters.status.workers.replicas) == (2, 1)
    assert counters.status.workers.ready_replicas is None


def test_the_phase_follows_the_state() -> None:
    value = cluster()
    assert phase(value) == "Provisioning"
    value.status.initialization.infrastructure_provisioned = True
    value.spec.control_plane_endpoint.host = "h"
    assert phase(value) == "Provisioning"
    value.spec.control_plane_endpoint.port = 6443
    assert phase(value) == "Provisioned"
    assert phase(cluster(deleting=True)) == "Deleting"
