"""The conditions and the phase of a Machine, from what was observed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.times import stamp
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.fields import View
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.node_conditions import node_conditions, node_healthy, node_ready
from kapy.core.machine.status import (
    availability,
    bootstrap_ready,
    deleting,
    group_control_plane_lines,
    infrastructure_ready,
    phase_of,
    updating,
)
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.remote.cluster_cache import Health
from kapy.remote.request_throttle import NotConnected

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GRACE = timedelta(minutes=5)
UNKNOWN = Unreadable(RuntimeError("no answer"))


def machine(*, deleting: bool = False, **status: Any) -> Machine:
    reference = {"apiGroup": "x.example.com", "kind": "Thing", "name": "m"}
    metadata: Document = {"name": "m", "namespace": "default"}
    if deleting:
        metadata["deletionTimestamp"] = stamp(NOW)
    spec = {
        "clusterName": "c",
        "bootstrap": {"configRef": reference},
        "infrastructureRef": reference,
    }
    return read({"metadata": metadata, "spec": spec, "status": status}, Machine)


def told(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message


def reporting(*conditions: Document) -> Document:
    return {"metadata": {"name": "m"}, "kind": "Thing", "status": {"conditions": list(conditions)}}


PROVISIONED = {"initialization": {"infrastructureProvisioned": True}}
CREATED = {"initialization": {"bootstrapDataSecretCreated": True}}
NOTHING: Document = {"metadata": {"name": "m"}, "kind": "Thing"}
READY: Document = {"type": "Ready", "status": "True"}
BROKEN: Document = {"type": "Ready", "status": "False", "reason": "Quota", "message": "none left"}
LOGS = "Please check controller logs for errors"
FALSE_FIELD = "Thing status.initialization.provisioned is false"


@pytest.mark.parametrize(
    ("observed", "status", "deleting", "expected"),
    [
        (Found(InfraMachine(NOTHING)), {}, False, ("False", "NotReady", FALSE_FIELD)),
        (Found(InfraMachine(NOTHING)), PROVISIONED, False, ("True", "Ready", "")),
        (Found(InfraMachine(reporting(READY))), {}, False, ("True", "Ready", "")),
        (Found(InfraMachine(reporting(BROKEN))), {}, False, ("False", "Quota", "none left")),
        (UNKNOWN, PROVISIONED, False, ("Unknown", "InternalError", LOGS)),
        (Absent(), {}, False, ("False", "ObjectDoesNotExist", "Thing does not exist")),
        (Absent(), {}, True, ("False", "ObjectDoesNotExist", "Thing does not exist")),
        (
            Absent(),
            PROVISIONED,
            False,
            ("False", "ObjectDeleted", "Thing has been deleted while the Machine still exists"),
        ),
        (Absent(), PROVISIONED, True, ("False", "ObjectDeleted", "Thing has been deleted")),
    ],
)
def test_infrastructure_ready_mirrors_the_provider(
    observed: Observed[View], status: Document, deleting: bool, expected: tuple[str, str, str]
) -> None:
    assert told(infrastructure_ready(machine(deleting=deleting, **status), observed)) == expected


@pytest.mark.parametrize(
    ("observed", "status", "deleting", "expected"),
    [
        (
            Found(BootstrapConfig(NOTHING)),
            {},
            False,
            ("False", "NotReady", "Thing status.initialization.dataSecretCreated is false"),
        ),
        (Found(BootstrapConfig(NOTHING)), CREATED, False, ("True", "Ready", "")),
        (Found(BootstrapConfig(reporting(READY))), {}, False, ("True", "Ready", "")),
        (
            Found(BootstrapConfig(reporting(BROKEN))),
            CREATED,
            False,
            ("False", "Quota", "none left"),
        ),
        (UNKNOWN, {}, False, ("Unknown", "InternalError", LOGS)),
        (Absent(), CREATED, False, ("False", "ObjectDoesNotExist", "Thing does not exist")),
        (Absent(), CREATED, True, ("False", "ObjectDeleted", "Thing has been deleted")),
    ],
)
def test_bootstrap_config_ready_mirrors_the_provider(
    observed: Observed[View], status: Document, deleting: bool, expected: tuple[str, str, str]
) -> None:
    assert told(bootstrap_ready(machine(deleting=deleting, **status), observed)) == expected


def test_boot_data_that_a_user_provides_is_ready() -> None:
    value = machine()
    value.spec.bootstrap.config_ref = None
    assert told(bootstrap_ready(value, Absent())) == ("True", "DataSecretProvided", "")


def node(**conditions: tuple[str, str]) -> Document:
    usual = {
        "Ready": ("True", ""),
        "MemoryPressure": ("False", ""),
        "DiskPressure": ("False", ""),
        "PIDPressure": ("False", ""),
    }
    listed = [
        {"type": of, "status": status, "message": message}
        for of, (status, message) in (usual | conditions).items()
    ]
    return {"metadata": {"name": "n"}, "status": {"conditions": listed}}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (node(), ("True", "NodeHealthy", "")),
        (
            node(Ready=("False", "no network")),
            ("False", "NodeNotHealthy", "* Node.Ready: no network"),
        ),
        (
            node(DiskPressure=("True", "")),
            ("False", "NodeNotHealthy", "* Node.DiskPressure: Condition is True"),
        ),
        (
            node(PIDPressure=("Perhaps", "who knows")),
            ("Unknown", "NodeHealthyUnknown", "* Node.PIDPressure: Condition not yet reported"),
        ),
        (
            node(**dict.fromkeys(("Ready", "PIDPressure", "DiskPressure"), ("Unknown", "silent"))),
            ("Unknown", "NodeHealthyUnknown", "* Node.AllConditions: silent"),
        ),
        (
            {"metadata": {"name": "n"}},
            (
                "Unknown",
                "NodeHealthyUnknown",
                "* Node.Ready: Condition not yet reported\n"
                "* Node.MemoryPressure: Condition not yet reported\n"
                "* Node.DiskPressure: Condition not yet reported\n"
                "* Node.PIDPressure: Condition not yet reported",
            ),
        ),
    ],
)
def test_node_healthy_follows_the_node_conditions(
    document: Document, expected: tuple[str, str, str]
) -> None:
    assert told(node_healthy(document)) == expected


def test_readiness_of_a_node_keeps_its_own_time() -> None:
    document = node()
    document["status"]["conditions"][0]["lastTransitionTime"] = "2020-02-02T02:02:02Z"
    assert node_ready(document).last_transition_time == "2020-02-02T02:02:02Z"


@pytest.mark.parametrize(
    ("provider_id", "expected"),
    [("x://m", ["Waiting for a Node with spec.providerID x://m to exist"] * 2), ("", [])],
)
def test_a_wait_for_a_provider_id_ends_without_a_connection(
    provider_id: str, expected: list[str]
) -> None:
    waits = "Waiting for Thing to report spec.providerID"
    former = [
        {"type": name, "status": "Unknown", "reason": "InspectionFailed", "message": waits}
        for name in ("NodeReady", "NodeHealthy")
    ]
    value = machine(conditions=former)
    value.spec.provider_id = provider_id
    node: Observed[Document] = Unreadable(NotConnected("no connection"))
    health = Health(connected=True, last_success=NOW)
    conditions = node_conditions(initialized_cluster(), value, node, health, NOW, GRACE)
    assert [condition.message for condition in conditions] == expected


def initialized_cluster() -> Cluster:
    initialized = {
        "type": "ControlPlaneInitialized",
        "status": "True",
        "reason": "Initialized",
        "message": "",
    }
    status = {
        "initialization": {"infrastructureProvisioned": True},
        "conditions": [initialized | {"lastTransitionTime": stamp(NOW)}],
    }
    metadata = {"name": "c", "namespace": "default"}
    return read({"metadata": metadata, "spec": {}, "status": status}, Cluster)


@pytest.mark.parametrize(
    ("least", "status"), [(None, "True"), (0, "True"), (60, "False")], ids=["unset", "0", "60"]
)
@pytest.mark.parametrize("ahead", [timedelta(seconds=1), timedelta(hours=1)])
def test_a_machine_that_is_ready_since_a_time_to_come_is_available_without_a_minimum(
    least: int | None, status: str, ahead: timedelta
) -> None:
    """Another clock has written when it became ready."""
    ready = {**READY, "reason": "Ready", "message": "", "lastTransitionTime": stamp(NOW + ahead)}
    future = machine(conditions=[ready])
    future.spec.min_ready_seconds = least
    scope: Any = SimpleNamespace(machine=future, now=NOW)
    condition, again = availability(scope)
    assert condition.status == status
    assert again.after == (None if status == "True" else timedelta(seconds=60))


def test_updating_and_deleting_follow_the_marks() -> None:
    assert told(deleting(machine(), "X", "y")) == ("False", "NotDeleting", "")
    assert told(deleting(machine(deleting=True), "X", "y")) == ("True", "X", "y")
    value = machine()
    assert told(updating(value)) == ("False", "NotUpdating", "")
    value.metadata.annotations = {"runtime.cluster.x-k8s.io/pending-hooks": "UpdateMachine"}
    assert updating(value).status == "True"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["* A: x", "* APIServerPodHealthy: y"], ["* A: x", "* APIServerPodHealthy: y"]),
        (
            ["* A: x", "* APIServerPodHealthy: y", "* EtcdPodHealthy: y", "* B: z"],
            ["* A: x", "* Control plane components: y", "* B: z"],
        ),
        (
            ["* APIServerPodHealthy: y", "* SchedulerPodHealthy: other"],
            ["* APIServerPodHealthy: y", "* SchedulerPodHealthy: other"],
        ),
    ],
)
def test_components_with_equal_messages_share_a_line(lines: list[str], expected: list[str]) -> None:
    assert group_control_plane_lines(lines) == expected


@pytest.mark.parametrize(
    ("status", "provider_id", "deleting", "expected"),
    [
        ({}, "", False, "Pending"),
        (CREATED, "", False, "Provisioning"),
        ({"phase": "Provisioning", **PROVISIONED}, "id", False, "Provisioned"),
        ({**PROVISIONED, "nodeRef": {"name": "n"}}, "id", False, "Running"),
        ({**PROVISIONED, "nodeRef": {"name": "n"}}, "id", True, "Deleting"),
    ],
)
def test_the_phase_follows_the_state(
    status: Document, provider_id: str, deleting: bool, expected: str
) -> None:
    value = machine(deleting=deleting, **status)
    value.spec.provider_id = provider_id
    assert phase_of(value) == expected
