"""A Machine with its Node in a Cluster that is up, for the stories of Machines."""

from __future__ import annotations

from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.names import Label
from kapy.kube import Document, Key
from kapy.kube.names import EVENTS, PODS, Resource
from tests.core.environment import (
    CONFIGS,
    INFRA_MACHINES,
    VERSION,
    Environment,
    default_namespace,
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


async def control_plane_machine(plane: Environment) -> None:
    """A Machine that keeps the control plane counting as there."""
    labels = {Label.CONTROL_PLANE: "", Label.CONTROL_PLANE_NAME: "c"}
    await plane.create(
        of(CONFIGS, "cp", spec={}), of(INFRA_MACHINES, "cp", spec={}), machine("cp", labels=labels)
    )


async def running(plane: Environment, **metadata: Any) -> Machine:
    """A Machine with its Node, in a Cluster that is up."""
    await running_cluster(plane)
    await control_plane_machine(plane)
    await plane.create(of(CONFIGS, "m", spec={}), of(INFRA_MACHINES, "m", spec={}))
    await plane.create(machine(**metadata))
    await plane.settle()
    await plane.boot("m")
    await plane.settle()
    return await found(plane)


async def found(plane: Environment, name: str = "m") -> Machine:
    value = await plane.story.get(Machine, name)
    assert value is not None
    return value


def condition(obj: Machine | Cluster, of_type: str) -> Condition:
    (value,) = [item for item in obj.status.conditions if item.type == of_type]
    return value


async def events(plane: Environment, name: str = "m") -> set[str]:
    listed = (await plane.client.list(EVENTS, "default")).items
    return {document["reason"] for document in listed if document["involvedObject"]["name"] == name}


async def delete(plane: Environment, name: str = "m") -> None:
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


async def pods(plane: Environment, *documents: Document) -> None:
    """Pods on the Machine's Node that stay until `free` lets them go."""
    await default_namespace(plane.workload)
    for document in documents:
        hold = {**document["metadata"], "finalizers": ["test.example.com/slow"]}
        await plane.workload.create(PODS, {**document, "metadata": hold})


async def free(plane: Environment, name: str, resource: Resource = PODS) -> None:
    """Let an object of the workload cluster go that a finalizer holds."""
    namespace = "default" if resource.namespaced else ""
    patch = {"metadata": {"finalizers": None}}
    await plane.workload.patch(resource, Key(namespace, name), patch)


async def rule(plane: Environment, name: str, behavior: str, **spec: Any) -> None:
    """A MachineDrainRule; `order` and selectors as given."""
    order = {"order": spec.pop("order")} if "order" in spec else {}
    await plane.client.create(
        MachineDrainRule.RESOURCE,
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDrainRule",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"drain": {"behavior": behavior, **order}, **spec},
        },
    )


def of_pods(**labels: str) -> list[Document]:
    """Pod selectors of a MachineDrainRule, which match the labels."""
    return [{"selector": {"matchLabels": labels}}]


async def waits(plane: Environment) -> str:
    """The message of the Machine's Deleting condition, without the line of the start time."""
    message = condition(await found(plane), "Deleting").message
    return message.partition(":\n")[2] or message
