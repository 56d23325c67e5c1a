"""Providers of every age: what a Cluster takes from them, and what it says of those that break
their contract."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation
from kapy.kube import Document, Key
from kapy.kube.names import CRDS, Resource
from tests.core.cluster.test_stories import condition, found
from tests.core.environment import (
    CONTROL_PLANES,
    INFRA_CLUSTERS,
    VERSION,
    Environment,
    cluster,
    crd_of,
    of,
    reference,
    running_cluster,
)

OLD_CLUSTERS = Resource("infra.example.com", "v1alpha4", "oldclusters", "OldCluster")
OLD_CONTROL_PLANES = Resource(
    "controlplane.example.com", "v1alpha4", "oldcontrolplanes", "OldControlPlane"
)
KEY = Key("default", "c")
SINCE = "2026-01-01T00:00:00Z"


def old_crd(resource: Resource) -> Document:
    """The CRD of a provider that keeps the v1beta1 contract, in an API group of its own."""
    crd = crd_of(resource)
    crd["metadata"]["labels"] = {"cluster.x-k8s.io/v1beta1": resource.version}
    return crd


async def old_cluster(plane: Environment, **infrastructure: Any) -> None:
    """A Cluster of old providers that have not reported anything yet."""
    for resource in (OLD_CLUSTERS, OLD_CONTROL_PLANES):
        await plane.client.create(CRDS, old_crd(resource))
    document = cluster()
    document["spec"] = {
        "infrastructureRef": reference(OLD_CLUSTERS, "c"),
        "controlPlaneRef": reference(OLD_CONTROL_PLANES, "c"),
    }
    await plane.client.create(OLD_CLUSTERS, of(OLD_CLUSTERS, "c", **infrastructure))
    replicas = {"version": VERSION, "replicas": 3}
    await plane.client.create(OLD_CONTROL_PLANES, of(OLD_CONTROL_PLANES, "c", spec=replicas))
    await plane.create(document)


def legacy(value: Cluster) -> dict[str, tuple[str, str, str]]:
    """The v1beta1 conditions: status, reason and severity by type."""
    assert value.status.deprecated is not None
    assert value.status.deprecated.v1beta1 is not None
    conditions = value.status.deprecated.v1beta1.conditions
    return {two.type: (two.status, two.reason, two.severity) for two in conditions}


async def test_a_cluster_of_v1beta1_providers_comes_up(plane: Environment) -> None:
    await old_cluster(plane, spec={"controlPlaneEndpoint": {"host": "1.2.3.4", "port": 6443}})
    await plane.settle()
    value = await found(plane)
    assert condition(value, "InfrastructureReady").reason == "NotReady"
    assert legacy(value) == {
        "Ready": ("False", "WaitingForControlPlane", "Info"),
        "ControlPlaneInitialized": (
            "False",
            "WaitingForControlPlaneProviderInitialized",
            "Info",
        ),
        "ControlPlaneReady": ("False", "WaitingForControlPlane", "Info"),
        "InfrastructureReady": ("False", "WaitingForInfrastructure", "Info"),
    }

    ready = {"type": "Ready", "status": "True", "lastTransitionTime": SINCE}
    domains = {"b": {"controlPlane": True}, "a": {"attributes": {"rack": "7"}}}
    await plane.report(OLD_CLUSTERS, "c", ready=True, failureDomains=domains, conditions=[ready])
    busy = {**ready, "status": "False", "reason": "ScalingUp", "severity": "Warning"}
    await plane.report(
        OLD_CONTROL_PLANES,
        "c",
        initialized=True,
        replicas=2,
        readyReplicas=2,
        updatedReplicas=1,
        unavailableReplicas=1,
        conditions=[{**busy, "message": "2 of 3"}],
    )
    await plane.settle()
    value = await found(plane)
    assert [two.name for two in value.status.failure_domains] == ["a", "b"]
    assert (condition(value, "InfrastructureReady").status, value.status.phase) == (
        "True",
        "Provisioned",
    )
    assert condition(value, "InfrastructureReady").reason == "Ready"
    assert condition(value, "ControlPlaneInitialized").status == "True"
    assert condition(value, "ControlPlaneAvailable").status == "True"
    counted = value.status.control_plane
    assert counted is not None
    assert (counted.desired_replicas, counted.replicas, counted.ready_replicas) == (3, 2, 2)
    assert (counted.up_to_date_replicas, counted.available_replicas) == (1, 2)
    assert legacy(value) == {
        "Ready": ("False", "ScalingUp", "Warning"),
        "ControlPlaneInitialized": ("True", "", ""),
        "ControlPlaneReady": ("False", "ScalingUp", "Warning"),
        "InfrastructureReady": ("True", "", ""),
    }


@pytest.mark.parametrize(
    "resource", [OLD_CLUSTERS, OLD_CONTROL_PLANES], ids=lambda value: value.kind
)
async def test_a_terminal_failure_of_v1beta1_is_never_unset(
    plane: Environment, resource: Resource
) -> None:
    await old_cluster(plane)
    failure = {"failureReason": "CreateError", "failureMessage": "no such network"}
    await plane.report(resource, "c", **failure)
    await plane.settle()
    await plane.report(resource, "c", failureReason=None, failureMessage=None)
    await plane.settle()
    value = await found(plane)
    assert value.status.deprecated is not None
    v1beta1 = value.status.deprecated.v1beta1
    assert v1beta1 is not None
    assert v1beta1.failure_reason == "CreateError"
    assert v1beta1.failure_message == (
        f"Failure detected from referenced resource {resource.api_version}, Kind={resource.kind} "
        'with name "c": no such network'
    )


async def test_infrastructure_that_is_managed_from_outside_is_taken_as_it_is(
    plane: Environment,
) -> None:
    outside = of(INFRA_CLUSTERS, "c")
    outside["metadata"]["annotations"] = {Annotation.MANAGED_BY: "terraform"}
    await plane.create(outside, cluster())
    await plane.settle()
    assert condition(await found(plane), "InfrastructureReady").status == "False"
    endpoint = {"spec": {"controlPlaneEndpoint": {"host": "1.2.3.4", "port": 6443}}}
    await plane.client.patch(INFRA_CLUSTERS, KEY, endpoint)
    await plane.report(INFRA_CLUSTERS, "c", initialization={"provisioned": True})
    await plane.settle(1)
    value = await found(plane)
    assert (value.status.phase, value.spec.control_plane_endpoint.host) == (
        "Provisioned",
        "1.2.3.4",
    )
    document = await plane.provider(INFRA_CLUSTERS, "c")
    assert document["metadata"]["annotations"] == {Annotation.MANAGED_BY: "terraform"}


async def test_the_endpoint_of_the_user_is_the_endpoint(plane: Environment) -> None:
    await running_cluster(plane, controlPlaneEndpoint={"host": "api.example.com", "port": 443})
    await plane.settle()
    value = await found(plane)
    assert value.spec.control_plane_endpoint.host == "api.example.com"


async def test_the_endpoint_may_come_from_the_control_plane(plane: Environment) -> None:
    endpoint = {"host": "5.6.7.8", "port": 6443}
    await plane.create(
        of(INFRA_CLUSTERS, "c"), of(CONTROL_PLANES, "c", spec={"controlPlaneEndpoint": endpoint})
    )
    await plane.create(cluster())
    await plane.report(INFRA_CLUSTERS, "c", initialization={"provisioned": True})
    await plane.settle()
    assert (await found(plane)).status.phase == "Provisioning"
    initialized = {"controlPlaneInitialized": True}
    await plane.report(CONTROL_PLANES, "c", initialization=initialized)
    await plane.settle()
    value = await found(plane)
    assert (value.spec.control_plane_endpoint.host, value.status.phase) == (
        "5.6.7.8",
        "Provisioned",
    )


BROKEN: list[tuple[Resource, Document, str]] = [
    (INFRA_CLUSTERS, {"initialization": {"provisioned": "yes"}}, "InfrastructureReady"),
    (INFRA_CLUSTERS, {"initialization": []}, "InfrastructureReady"),
    (INFRA_CLUSTERS, {"failureDomains": {"a": {}}}, "InfrastructureReady"),
    (INFRA_CLUSTERS, {"failureReason": 7}, "InfrastructureReady"),
    (CONTROL_PLANES, {"initialization": {"controlPlaneInitialized": 1}}, "ControlPlaneAvailable"),
]


async def test_a_contract_violation_is_reported_and_can_be_corrected_and_deleted(
    plane: Environment,
) -> None:
    await running_cluster(plane)
    await plane.settle()
    before = await found(plane)
    for resource, status, shown_by in BROKEN:
        was = (await plane.provider(resource, "c"))["status"]
        await plane.report(resource, "c", **status)
        await plane.settle()
        value = await found(plane)
        result = condition(value, shown_by)
        assert (result.status, result.reason) == ("Unknown", "InternalError")
        (field,) = status
        for word in (resource.kind, "c", f".status.{field}"):
            assert word in result.message
        assert value.status.initialization == before.status.initialization
        assert value.status.phase == "Provisioned"

        await plane.report(resource, "c", **{field: None})
        await plane.report(resource, "c", **was)
        await plane.settle(30)
        assert condition(await found(plane), shown_by).status == "True"

    for resource, status, _ in BROKEN:
        await plane.report(resource, "c", **status)
    await plane.client.delete(Cluster, KEY)
    await plane.story.until_gone(Cluster, "c")


UNFIT: list[tuple[Document, str, int]] = [
    ({"reason": "Not a word!", "message": "m"}, "InvalidConditionReported", 200),
    ({"reason": "R" * 2000, "message": "m"}, "InvalidConditionReported", 300),
    ({"reason": "TooMuch", "message": "m" * 100_000}, "TooMuch", 32768),
]


async def test_a_condition_that_no_status_could_hold_spoils_nothing_else(
    plane: Environment,
) -> None:
    await running_cluster(plane)
    for reported, reason, length in UNFIT:
        ready = {"type": "Ready", "status": "False", "lastTransitionTime": SINCE, **reported}
        await plane.report(INFRA_CLUSTERS, "c", conditions=[ready])
        await plane.settle()
        value = await found(plane)
        result = condition(value, "InfrastructureReady")
        assert result.reason == reason
        assert len(result.message) <= length
        assert value.status.phase == "Provisioned"


async def test_a_provider_that_is_not_installed_is_named_and_waited_for(plane: Environment) -> None:
    document = cluster()
    document["spec"]["infrastructureRef"] = reference(OLD_CLUSTERS, "c")
    await plane.create(document)
    await plane.settle(3600)
    result = condition(await found(plane), "InfrastructureReady")
    assert result.status == "Unknown"
    assert "oldclusters.infra.example.com" in result.message
    await plane.client.create(CRDS, old_crd(OLD_CLUSTERS))
    await plane.client.create(OLD_CLUSTERS, of(OLD_CLUSTERS, "c"))
    await plane.settle(1)
    result = condition(await found(plane), "InfrastructureReady")
    assert result.message == "OldCluster status.initialization.provisioned is false"
