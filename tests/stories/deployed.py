"""A plane with a simulated workload cluster, and the workloads that a test deploys there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests, class_sample
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.conditions.lookup import is_true
from kapy.kube import Document, Key
from kapy.kube.names import NODES, PODS, Resource
from kapy.kube.patch.merge_patch import apply as merged
from kapy.testing.story import Story

CLUSTER = Key("default", "capybara")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
JOBS = Resource("batch", "v1", "jobs", "Job")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
OWNER = "owner.node.cluster.x-k8s.io"


@asynccontextmanager
async def cluster(
    *, control_planes: int = 1, workers: int = 2
) -> AsyncIterator[tuple[ManagementPlane, Client]]:
    """A plane, and the workload cluster that it has made."""
    objects = class_sample()
    topology = next(obj for obj in objects if obj["kind"] == "Cluster")["spec"]["topology"]
    topology["controlPlane"] = {
        "replicas": control_planes,
        "metadata": {"labels": {OWNER: "control-plane"}},
        "deletion": {"nodeDrainTimeoutSeconds": 0},
    }
    (pool,) = topology["workers"]["machineDeployments"]
    pool |= {"replicas": workers, "metadata": {"labels": {OWNER: "workers"}}}
    pool["deletion"] = {"nodeDrainTimeoutSeconds": 0}
    async with management_plane(Settings(), clock=loop_clock()) as running:
        await apply_manifests(running.client, objects)
        story = Story(running.client, [])
        await story.until(
            Cluster, CLUSTER.name, lambda value: is_true(value.status.conditions, "Available")
        )
        await asyncio.sleep(30)
        yield running, running.cluster_cache.client(CLUSTER)


def workload(kind: Resource, name: str, namespace: str = "default", **spec: Any) -> Document:
    labels = {"app": name}
    pod: Document = {"containers": [{"name": "main", "image": "registry.example.com/pause:1"}]}
    template: Document = {"metadata": {"labels": labels}, "spec": pod}
    document: Document = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    if kind is JOBS:
        del document["spec"]["selector"]
        pod["restartPolicy"] = "Never"
    if kind is STATEFUL_SETS:
        document["spec"]["serviceName"] = name
    whole: Document = merged(document, {"spec": spec})
    return whole


async def pods(client: Client, name: str = "", namespace: str = "default") -> list[Document]:
    results = (await client.list(PODS, namespace, labels=f"app={name}" if name else "")).items
    return sorted(results, key=lambda document: document["metadata"]["name"])


def nodes_of(values: list[Document]) -> list[str]:
    return sorted(document["spec"].get("nodeName", "") for document in values)


async def unseen(client: Client) -> list[Document]:
    """The Pods that have a Node, read as a drain reads them."""
    nodes = [document["metadata"]["name"] for document in (await client.list(NODES)).items]
    results = [(await client.list(PODS, fields=f"spec.nodeName={node}")).items for node in nodes]
    return [pod for result in results for pod in result]


async def scale(running: ManagementPlane, **replicas: int) -> None:
    document = await running.client.get(Cluster.RESOURCE, CLUSTER)
    topology = deepcopy(document["spec"]["topology"])
    if "workers" in replicas:
        topology["workers"]["machineDeployments"][0]["replicas"] = replicas["workers"]
    if "control_planes" in replicas:
        topology["controlPlane"]["replicas"] = replicas["control_planes"]
    await running.client.patch(Cluster.RESOURCE, CLUSTER, {"spec": {"topology": topology}})


async def evict(client: Client, pod: Document) -> None:
    key = Key.of(pod)
    path = PODS.path(key.namespace, key.name, "eviction")
    body = {"apiVersion": "policy/v1", "kind": "Eviction"}
    await client.raw(
        "POST", path, body=body | {"metadata": {"name": key.name, "namespace": key.namespace}}
    )
