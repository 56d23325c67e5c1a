"""ClusterResourceSets, their sources, and what a test reads of them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding, ResourceBinding
from kapy.conditions import v1beta1
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CONFIG_MAPS
from tests.core.environment import Environment, running_cluster

TYPE = "addons.cluster.x-k8s.io/resource-set"


def manifest(name: str, namespace: str = "default", **data: str) -> str:
    values = ", ".join(f'{key}: "{value}"' for key, value in data.items())
    metadata = f"{{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata: {{{values}}}\n"


def config_map(name: str = "cni", **data: str) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def secret(name: str = "creds", type_: str = TYPE, **data: str) -> Document:
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    return {**config_map(name, **encoded), "kind": "Secret", "type": type_}


def resource_set(
    name: str = "set", *sources: tuple[str, str], strategy: str = "ApplyOnce", **spec: Any
) -> Document:
    chosen = sources or (("ConfigMap", "cni"),)
    return {
        "apiVersion": "addons.cluster.x-k8s.io/v1beta2",
        "kind": "ClusterResourceSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "clusterSelector": {"matchLabels": {"cni": "yes"}},
            "strategy": strategy,
            "resources": [{"kind": kind, "name": text} for kind, text in chosen],
            **spec,
        },
    }


async def select(plane: Environment, value: str | None = "yes") -> None:
    """Give the Cluster its label, or take it away."""
    await plane.story.merge(Cluster, "c", {"metadata": {"labels": {"cni": value}}})


async def delivered(plane: Environment, *documents: Document) -> None:
    """Sources and sets, and a Cluster that they select."""
    await running_cluster(plane)
    await select(plane)
    await plane.create(*documents)
    await plane.settle()


async def told(plane: Environment, name: str = "set") -> tuple[str, str]:
    """Status and reason of ResourcesApplied."""
    cluster_resource_set = await plane.story.get(ClusterResourceSet, name)
    assert cluster_resource_set is not None
    for condition in cluster_resource_set.status.conditions:
        if condition.type == "ResourcesApplied":
            return condition.status, condition.reason
    return "", ""


async def legacy(plane: Environment, name: str = "set") -> tuple[str, str, str]:
    """Severity, reason and message of ResourcesApplied as v1beta1 has it."""
    cluster_resource_set = await plane.story.get(ClusterResourceSet, name)
    assert cluster_resource_set is not None
    beta1_condition = v1beta1.get(v1beta1.conditions_of(cluster_resource_set), "ResourcesApplied")
    assert beta1_condition is not None
    return beta1_condition.severity, beta1_condition.reason, beta1_condition.message


async def binding(plane: Environment) -> dict[str, list[ResourceBinding]]:
    """Return the resources in the Cluster's ClusterResourceSetBinding, by ClusterResourceSet."""
    set_binding = await plane.story.get(ClusterResourceSetBinding, "c")
    bindings = set_binding.spec.bindings if set_binding is not None else []
    return {item.cluster_resource_set_name: item.resources for item in bindings}


async def inside(plane: Environment, name: str) -> Document | None:
    """The values of a ConfigMap in the workload cluster."""
    try:
        config_maps = await plane.workload.get(CONFIG_MAPS, Key("default", name))
    except NotFound:
        return None
    return config_maps.get("data") or {}


async def change(plane: Environment, **data: str) -> None:
    await plane.client.patch(CONFIG_MAPS, Key("default", "cni"), {"data": data})
    await plane.settle()


APPLIED = ("True", "Applied")
