"""Tests of a Machine's readiness and conditions, also where some of its parts are missing."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label
from kapy.kube import Key
from kapy.kube.names import NODES, SECRETS
from tests.core.environment import (
    CONFIGS,
    CONTROL_PLANES,
    INFRA_MACHINES,
    Environment,
    node_of,
    of,
    running_cluster,
)
from tests.core.machine.running_machine import (
    condition,
    control_plane_machine,
    delete,
    events,
    found,
    machine,
    running,
)


async def report(plane: Environment, of_type: str, status: str) -> None:
    """Somebody's condition on the Machine."""
    document = await plane.client.get(Machine.RESOURCE, Key("default", "m"))
    messages = {
        "type": of_type,
        "status": status,
        "reason": "Said",
        "message": "so it is",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    others = [item for item in document["status"]["conditions"] if item["type"] != of_type]
    status_patch = {"status": {"conditions": [*others, messages]}}
    key = Key("default", "m")
    await plane.client.patch(Machine.RESOURCE, key, status_patch, subresource="status")
    await plane.settle()


async def test_readiness_gates_hold_a_machine_back_in_both_directions(plane: Environment) -> None:
    await running(plane)
    gates = [
        {"conditionType": "Scanned"},
        {"conditionType": "Quarantined", "polarity": "Negative"},
    ]
    await plane.story.merge(Machine, "m", {"spec": {"readinessGates": gates}})
    await plane.settle()
    result = condition(await found(plane), "Ready")
    assert (result.status, result.reason) == ("Unknown", "ReadyUnknown")
    assert result.message == (
        "* Scanned: Condition not yet reported\n* Quarantined: Condition not yet reported"
    )
    await report(plane, "Scanned", "True")
    await report(plane, "Quarantined", "True")
    result = condition(await found(plane), "Ready")
    assert (result.status, result.message) == ("False", "* Quarantined: so it is")
    await report(plane, "Quarantined", "False")
    assert condition(await found(plane), "Ready").status == "True"
    assert condition(await found(plane), "Available").status == "True"


EXPIRY = "2030-01-01T00:00:00Z"


async def test_a_control_plane_machine_says_when_its_certificates_expire(
    plane: Environment,
) -> None:
    await running(plane, labels={Label.CONTROL_PLANE: ""})
    for on_machine, on_config, expected in (
        (None, EXPIRY, EXPIRY),
        (EXPIRY, "2031-01-01T00:00:00Z", EXPIRY),
        ("soon", EXPIRY, EXPIRY),  # what was known last, because nothing can be read
        (None, None, None),
    ):
        own, entry = (
            {"metadata": {"annotations": {Annotation.CERTIFICATES_EXPIRY: text}}}
            for text in (on_machine, on_config)
        )
        await plane.client.patch(CONFIGS, Key("default", "m"), entry)
        await plane.story.merge(Machine, "m", own)
        await plane.settle()
        value = await found(plane)
        assert value.status.certificates_expiry_date == expected
        assert condition(value, "Ready").status == "True"


async def test_two_nodes_of_one_provider_id_are_reported_and_neither_is_taken(
    plane: Environment,
) -> None:
    await running_cluster(plane)
    await control_plane_machine(plane)
    await plane.create(of(CONFIGS, "m", spec={}), of(INFRA_MACHINES, "m", spec={}), machine())
    twin = {**node_of("m"), "metadata": {"name": "twin"}}
    await plane.workload.create(NODES, twin)
    await plane.settle()
    await plane.boot("m")
    await plane.settle()
    value = await found(plane)
    assert value.status.node_ref is None
    assert condition(value, "NodeHealthy").reason == "InternalError"
    assert "Failed to retrieve Node by ProviderID" in await events(plane)

    await plane.workload.delete(NODES, Key("", "twin"))
    await plane.settle(30)
    value = await found(plane)
    assert value.status.node_ref is not None
    assert value.status.node_ref.name == "m"


async def test_boot_data_may_be_provided_by_a_user(plane: Environment) -> None:
    await running_cluster(plane)
    document = machine()
    document["spec"]["bootstrap"] = {"dataSecretName": "mine"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "mine", "namespace": "default"},
        "stringData": {"value": "#!/bin/sh"},
    }
    await plane.client.create(SECRETS, secret)
    await plane.create(of(INFRA_MACHINES, "m", spec={}), document)
    await plane.settle()
    value = await found(plane)
    result = condition(value, "BootstrapConfigReady")
    assert (result.status, result.reason) == ("True", "DataSecretProvided")
    assert [owner.kind for owner in value.metadata.owner_references] == ["Cluster"]


@pytest.mark.parametrize(
    ("labels", "control_plane", "expected"),
    [
        # The last member takes the control plane with it: nobody is left to ask.
        ({Label.CONTROL_PLANE: ""}, {}, {"m"}),
        # A control plane elsewhere has no Machines, and its Nodes are deleted all the same.
        ({}, {"externalManagedControlPlane": True}, set()),
        ({}, {}, {"m"}),
    ],
)
async def test_the_node_is_deleted_only_while_a_control_plane_remains(
    plane: Environment,
    labels: dict[str, str],
    control_plane: dict[str, Any],
    expected: set[str],
) -> None:
    await running(plane, labels=labels)
    await plane.report(CONTROL_PLANES, "c", **control_plane)
    await delete(plane, "cp")
    await delete(plane)
    assert await plane.story.get(Machine, "m") is None
    nodes = {document["metadata"]["name"] for document in (await plane.workload.list(NODES)).items}
    assert nodes == expected


async def test_a_deleted_control_plane_deletes_its_machines_without_draining(
    plane: Environment,
) -> None:
    await running(plane)
    hold = {"metadata": {"finalizers": ["test.example.com/hold"]}}
    await plane.client.patch(CONTROL_PLANES, Key("default", "c"), hold)
    await plane.client.delete(CONTROL_PLANES, Key("default", "c"))
    await plane.settle()
    await delete(plane)
    assert await plane.story.get(Machine, "m") is None
    node = await plane.workload.get(NODES, Key("", "m"))
    assert not node["spec"].get("unschedulable")
