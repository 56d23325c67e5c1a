"""Clusters of a ClusterClass, as far as this controller is concerned: it waits for the parts that
the class makes, owns them as their controller, and counts the class's availability gates."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.features import FeatureGates
from kapy.kube import Document, Key
from tests.core.cluster.test_providers import legacy
from tests.core.cluster.test_stories import condition, found
from tests.core.environment import (
    CONTROL_PLANES,
    INFRA_CLUSTERS,
    VERSION,
    Environment,
    cluster,
    core_environment,
    of,
    reference,
)

GATES = FeatureGates(cluster_topology=True)
KEY = Key("default", "quick")


def cluster_class(*gates: Document) -> Document:
    templates = {
        name: {
            "templateRef": {
                "apiVersion": resource.api_version,
                "kind": f"{resource.kind}Template",
                "name": "quick",
            }
        }
        for name, resource in (
            ("infrastructure", INFRA_CLUSTERS),
            ("controlPlane", CONTROL_PLANES),
        )
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "ClusterClass",
        "metadata": {"name": "quick", "namespace": "default"},
        "spec": {**templates, **({"availabilityGates": list(gates)} if gates else {})},
    }


def managed() -> Document:
    document = cluster()
    document["spec"] = {"topology": {"classRef": {"name": "quick"}, "version": VERSION}}
    return document


async def of_class(plane: Environment, *gates: Document) -> None:
    await plane.client.create(ClusterClass.RESOURCE, cluster_class(*gates))
    await plane.create(managed())
    await plane.settle()


async def make_parts(plane: Environment) -> None:
    """Create the objects that the topology controller creates, and the Cluster's references."""
    await plane.create(of(INFRA_CLUSTERS, "c"), of(CONTROL_PLANES, "c"))
    references = {
        "infrastructureRef": reference(INFRA_CLUSTERS, "c"),
        "controlPlaneRef": reference(CONTROL_PLANES, "c"),
    }
    await plane.story.merge(Cluster, "c", {"spec": references})
    await plane.settle()


async def test_a_cluster_waits_for_the_parts_that_its_class_makes() -> None:
    async with core_environment(gates=GATES) as plane:
        await of_class(plane)
        value = await found(plane)
        assert value.status.phase == "Pending"
        assert not value.status.initialization.infrastructure_provisioned
        for of_type in ("InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized"):
            result = condition(value, of_type)
            assert (result.reason, result.message) == (
                "ObjectDoesNotExist",
                "Waiting for cluster topology to be reconciled",
            )
        assert legacy(value) == {}
        await make_parts(plane)
        assert (await found(plane)).status.phase == "Provisioning"
        for resource in (INFRA_CLUSTERS, CONTROL_PLANES):
            (owner,) = (await plane.provider(resource, "c"))["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == (
                "Cluster",
                True,
                True,
            )


async def test_availability_gates_of_the_class_apply_until_the_cluster_has_its_own() -> None:
    gate = {"conditionType": "BackupsRun"}
    async with core_environment(gates=GATES) as plane:
        await of_class(plane, gate)
        assert "BackupsRun" in condition(await found(plane), "Available").message
        own = [{"conditionType": "Frozen", "polarity": "Negative"}]
        await plane.story.merge(Cluster, "c", {"spec": {"availabilityGates": own}})
        await plane.settle()
        message = condition(await found(plane), "Available").message
        assert "BackupsRun" not in message
        assert "* Frozen: Condition not yet reported" in message
        await plane.story.merge(Cluster, "c", {"spec": {"availabilityGates": None}})
        spec = {"spec": {"availabilityGates": [{"conditionType": "Audited"}]}}
        await plane.client.patch(ClusterClass, KEY, spec)
        await plane.settle()
        message = condition(await found(plane), "Available").message
        assert "* Audited: Condition not yet reported" in message


async def test_a_cluster_without_its_parts_can_be_deleted() -> None:
    async with core_environment(gates=GATES) as plane:
        await of_class(plane)
        await plane.client.delete(Cluster, Key("default", "c"))
        await plane.story.until_gone(Cluster, "c", within=5)
