"""Owner references that somebody removed, or that are of another time, are put right."""

from __future__ import annotations

from typing import Any

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.kube import Document, Key
from kapy.kube.meta import Object
from tests.core.environment import (
    CONFIGS,
    INFRA_MACHINES,
    INFRA_POOLS,
    VERSION,
    Environment,
    deployment,
    of,
    reference,
    running_cluster,
    templates,
)
from tests.core.machineset.test_stories import machine_set

KINDS: tuple[type[Object], ...] = (
    Machine,
    MachineSet,
    MachineDeployment,
    MachinePool,
    MachineHealthCheck,
)
NAME = "alone"


def everything() -> list[Document]:
    """One object of each kind that a Cluster owns where nobody else does."""

    def object_of(kind: str, **spec: Any) -> Document:
        metadata = {"name": NAME, "namespace": "default"}
        spec = {"clusterName": "c", **spec}
        return {**_api_version(), "kind": kind, "metadata": metadata, "spec": spec}

    bootstrap = {"configRef": reference(CONFIGS, NAME)}
    template = {"clusterName": "c", "version": VERSION, "bootstrap": bootstrap}
    of_machine = {**template, "infrastructureRef": reference(INFRA_MACHINES, NAME)}
    of_pool = {**template, "infrastructureRef": reference(INFRA_POOLS, NAME)}
    return [
        *templates(),
        *(of(resource, NAME, spec={}) for resource in (CONFIGS, INFRA_MACHINES, INFRA_POOLS)),
        object_of("Machine", **of_machine),
        machine_set(0, NAME),
        {**deployment(0), "metadata": {"name": NAME, "namespace": "default"}},
        object_of("MachinePool", replicas=0, template={"spec": of_pool}),
        object_of("MachineHealthCheck", selector={"matchLabels": {"a": "b"}}),
    ]


def _api_version() -> Document:
    return {"apiVersion": "cluster.x-k8s.io/v1beta2"}


async def owners(plane: Environment) -> dict[str, list[Document]]:
    """The references to the Cluster, by the kind of who has them."""
    result = {}
    for kind in KINDS:
        document = await plane.client.get(kind.RESOURCE, Key("default", NAME))
        references = document["metadata"].get("ownerReferences") or []
        result[kind.RESOURCE.kind] = [item for item in references if item["kind"] == "Cluster"]
    return result


async def test_owner_references_are_restored(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*everything())
    await plane.settle(10)
    before = await owners(plane)
    assert {kind: len(results) for kind, results in before.items()} == dict.fromkeys(before, 1)
    (wanted,) = before["Machine"]
    for spoilt in (
        [],
        [{**wanted, "apiVersion": "cluster.x-k8s.io/v1alpha4"}],
    ):
        for kind in KINDS:
            patch = {"metadata": {"ownerReferences": spoilt}}
            await plane.client.patch(kind.RESOURCE, Key("default", NAME), patch)
        await plane.settle(10)
        assert await owners(plane) == before
