"""Tests of the v1beta1 status of a Machine."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.conditions.v1beta1 import INFO, false, get, true
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.status_v1beta1 import (
    bootstrap_ready,
    infrastructure_ready,
    node_healthy,
    ready,
)
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.meta import read
from kapy.kube.names import Resource
from kapy.remote.cluster_cache import NotConnected
from tests.core.environment import CONFIGS, INFRA_MACHINES, Environment
from tests.core.machine.running_machine import delete, found, running

GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
SLOW = {"type": "Ready", "status": "False", "severity": "Warning", "reason": "Slow"}


def machine(provider_id: str = "", secret: str = "", **parts: Any) -> Machine:
    reference = {"apiGroup": "x.example.com", "kind": "Thing", "name": "m"}
    spec: Document = {
        "clusterName": "c",
        "bootstrap": {"configRef": reference, **({"dataSecretName": secret} if secret else {})},
        "infrastructureRef": reference,
        **({"providerID": provider_id} if provider_id else {}),
    }
    metadata = {"name": "m", "namespace": "ns", **parts.pop("metadata", {})}
    return read({"metadata": metadata, "spec": spec, "status": parts}, Machine)


def thing(metadata: Document | None = None, **status: Any) -> Document:
    own = {"name": "m", **(metadata or {})}
    return {"apiVersion": "x.example.com/v1", "kind": "Thing", "metadata": own, "status": status}


def said(condition: V1Beta1Condition | None) -> str | None:
    if condition is None:
        return None
    words = (condition.status, condition.severity, condition.reason, condition.message)
    return " ".join(word for word in words if word)


CREATED = {"bootstrapDataSecretCreated": True}


@pytest.mark.parametrize(
    ("value", "config", "expected"),
    [
        (machine(), Found(BootstrapConfig(thing())), "False Info WaitingForDataSecret"),
        (machine(metadata=GONE), Found(BootstrapConfig(thing())), "False Info Deleting"),
        (
            machine(),
            Found(BootstrapConfig(thing(conditions=[SLOW]))),
            "False Warning Slow",
        ),
        (machine(initialization=CREATED), Found(BootstrapConfig(thing())), "True"),
        (machine(secret="s"), Found(BootstrapConfig(thing(conditions=[SLOW]))), "True"),
        (machine(), Absent(), None),
        (machine(), Unreadable(KapyError("no")), None),
    ],
)
def test_bootstrap_ready_of_v1beta1_mirrors_the_provider(
    value: Machine, config: Observed[BootstrapConfig], expected: str | None
) -> None:
    assert said(bootstrap_ready(value, config)) == expected


@pytest.mark.parametrize(
    ("value", "infrastructure", "expected"),
    [
        (machine(), thing(), "False Info WaitingForInfrastructure"),
        (machine(metadata=GONE), thing(), "False Info Deleting"),
        (machine(), thing(initialization={"provisioned": True}), "True"),
        (machine(), thing(conditions=[SLOW]), "False Warning Slow"),
        (machine(), thing(initialization={"provisioned": "yes"}), None),
    ],
)
def test_infrastructure_mirrors_the_provider(
    value: Machine, infrastructure: Document, expected: str | None
) -> None:
    assert said(infrastructure_ready(value, Found(InfraMachine(infrastructure)))) == expected


def node(**conditions: str) -> Found[Document]:
    reported = [{"type": name, "status": status} for name, status in conditions.items()]
    return Found({"metadata": {"name": "n"}, "status": {"conditions": reported}})


HERE = Found(InfraMachine(thing()))
SILENT = dict.fromkeys(("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), "Unknown")
NOT_HEARD = ". ".join(f"Node condition {name} is Unknown" for name in SILENT)
WITH_NODE: dict[str, Any] = {"nodeRef": {"name": "n"}}


@pytest.mark.parametrize(
    ("value", "observed", "infrastructure", "expected"),
    [
        (machine(), Absent(), HERE, "False Info WaitingForNodeRef"),
        (
            machine("x://1"),
            Absent(),
            HERE,
            "False Warning NodeProvisioning Waiting for a node with matching ProviderID to exist",
        ),
        (machine("x://1", **WITH_NODE), Absent(), HERE, "False Error NodeNotFound"),
        (machine("x://1", metadata=GONE), Absent(), HERE, None),
        (machine("x://1"), Unreadable(NotConnected("no")), HERE, None),
        (
            machine("x://1"),
            Unreadable(KapyError("two")),
            HERE,
            "Unknown NodeInspectionFailed Failed to get the Node for this Machine by ProviderID",
        ),
        (machine("x://1"), node(Ready="True"), HERE, "True"),
        (machine("x://1"), node(Ready="True"), Absent(), "False Info Deleting"),
        (
            machine("x://1"),
            node(Ready="True"),
            Found(InfraMachine(thing(GONE))),
            "False Info Deleting",
        ),
        (
            machine("x://1"),
            node(Ready="False", DiskPressure="True"),
            HERE,
            "False Warning NodeConditionsFailed Node condition Ready is False. "
            "Node condition DiskPressure is True",
        ),
        (machine("x://1"), node(Ready="Unknown"), HERE, "True"),
        (machine("x://1"), node(**SILENT), HERE, f"Unknown NodeConditionsFailed {NOT_HEARD}"),
    ],
)
def test_node_healthy_of_v1beta1_follows_the_node(
    value: Machine,
    observed: Observed[Document],
    infrastructure: Observed[InfraMachine],
    expected: str | None,
) -> None:
    assert said(node_healthy(value, observed, infrastructure)) == expected


WAITING = [false("InfrastructureReady", "Waiting", INFO, "for x"), true("BootstrapReady")]


@pytest.mark.parametrize(
    ("value", "conditions", "expected"),
    [
        (machine(), WAITING, "False Info Waiting 1 of 2 completed"),
        (machine("x://1"), WAITING, "False Info Waiting for x"),
        (machine(metadata=GONE), WAITING, "False Info Waiting for x"),
        (
            machine(),
            [*WAITING, true("HealthCheckSucceeded")],
            "False Info Waiting for x",
        ),
        (machine("x://1"), [true("BootstrapReady"), true("InfrastructureReady")], "True"),
    ],
)
def test_ready_counts_steps_while_the_machine_is_made(
    value: Machine, conditions: list[V1Beta1Condition], expected: str
) -> None:
    assert said(ready(value, conditions)) == expected


@pytest.mark.parametrize("resource", [CONFIGS, INFRA_MACHINES], ids=lambda value: value.kind)
async def test_terminal_failures_are_kept(plane: Environment, resource: Resource) -> None:
    await running(plane)
    await plane.report(resource, "m", failureReason="Broken", failureMessage="disk on fire")
    await plane.settle()
    await plane.report(resource, "m", failureReason=None, failureMessage=None)
    await plane.story.merge(Machine, "m", {"metadata": {"labels": {"touched": "yes"}}})
    await plane.settle()
    legacy = _legacy(await found(plane))
    assert legacy.failure_reason == "Broken"
    assert legacy.failure_message == (
        f"Failure detected from referenced resource {resource.api_version}, "
        f'Kind={resource.kind} with name "m": disk on fire'
    )


async def test_deleted_infrastructure_is_a_terminal_failure(plane: Environment) -> None:
    await running(plane)
    await plane.client.delete(INFRA_MACHINES, Key("default", "m"))
    await plane.settle()
    legacy = _legacy(await found(plane))
    assert legacy.failure_reason == "InvalidConfiguration"
    assert legacy.failure_message == (
        "Machine infrastructure resource FakeMachine default/m has been deleted after "
        "provisioning was completed"
    )


async def test_the_steps_of_a_deletion_are_conditions(plane: Environment) -> None:
    await running(plane)
    hold = {"metadata": {"finalizers": ["test.example.com/hold"]}}
    await plane.client.patch(INFRA_MACHINES, Key("default", "m"), hold)
    await delete(plane)
    conditions = _legacy(await found(plane)).conditions
    assert {condition.type: said(condition) for condition in conditions} == {
        "Ready": "True",
        "BootstrapReady": "True",
        "DrainingSucceeded": "True",
        "InfrastructureReady": "True",
        "NodeHealthy": "False Info Deleting",
        "PreDrainDeleteHookSucceeded": "True",
        "PreTerminateDeleteHookSucceeded": "True",
        "VolumeDetachSucceeded": "True",
    }
    await plane.client.patch(
        INFRA_MACHINES, Key("default", "m"), {"metadata": {"finalizers": None}}
    )


def _legacy(value: Machine) -> Any:
    assert value.status.deprecated is not None
    assert get(value.status.deprecated.v1beta1.conditions, "Ready") is not None  # type: ignore[union-attr]
    return value.status.deprecated.v1beta1
