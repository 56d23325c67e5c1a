"""A Machine with its Node in a Cluster that is up, for the stories of Machines."""

from __future__ import annotations

from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.kube import Document, Key
from kapy.kube.names import EVENTS, Resource
from tests.core.stage import (
    CONFIGS,
    INFRA_MACHINES,
    VERSION,
    Stage,
    of,
    reference,
    running_cluster,
)

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")


def machine(name: str = "m", **metadata: Any) -> Document:
    """A Machine that stands alone."""
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {
            "clusterName": "c",
            "version": VERSION,
            "bootstrap": {"configRef": reference(CONFIGS, name)},
            "infrastructureRef": reference(INFRA_MACHINES, name),
        },
    }


async def control_plane_machine(plane: Stage) -> None:
    """A Machine that keeps the control plane counting as there."""
    labels = {Label.CONTROL_PLANE: "", Label.CONTROL_PLANE_NAME: "c"}
    await plane.create(
        of(CONFIGS, "cp", spec={}), of(INFRA_MACHINES, "cp", spec={}), machine("cp", labels=labels)
    )


async def running(plane: Stage, **metadata: Any) -> Machine:
    """A Machine with its Node, in a Cluster that is up."""
    await running_cluster(plane)
    await control_plane_machine(plane)
    await plane.create(of(CONFIGS, "m", spec={}), of(INFRA_MACHINES, "m", spec={}))
    await plane.create(machine(**metadata))
    await plane.settle()
    await plane.boot("m")
    await plane.settle()
    return await found(plane)


async def found(plane: Stage, name: str = "m") -> Machine:
    one = await plane.story.get(Machine, name)
    assert one is not None
    return one


def condition(obj: Machine | Cluster, of_type: str) -> Condition:
    (one,) = [one for one in obj.status.conditions if one.type == of_type]
    return one


async def events(plane: Stage, name: str = "m") -> set[str]:
    listed = (await plane.client.list(EVENTS, "default")).items
    return {one["reason"] for one in listed if one["involvedObject"]["name"] == name}


async def delete(plane: Stage, name: str = "m") -> None:
    await plane.client.delete(Machine, Key("default", name))
    await plane.settle()


def pod(name: str, **metadata: Any) -> Document:
    container = {"name": "c", "image": "i"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"nodeName": "m", "containers": [container]},
    }
