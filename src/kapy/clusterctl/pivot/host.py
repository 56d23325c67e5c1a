"""Checks of a workload cluster before it runs the providers itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.client.client import Client
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.kinds import CLUSTER
from kapy.clusterctl.move.pausing import is_paused
from kapy.clusterctl.waiting import has_condition
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import NODES, Resource

CLUSTERS: Final = Resource(CLUSTER.group, "v1beta2", "clusters", CLUSTER.kind)
_DEV_CLUSTERS: Final = Resource(
    "infrastructure.cluster.x-k8s.io", "v1beta2", "devclusters", "DevCluster"
)
_NO_NETWORK: Final = ("cni", "network plugin", "networkplugin")


def check_cluster(cluster: Document) -> None:
    """Raises MoveError unless a Cluster can manage itself now."""
    name = f"Cluster {Key.of(cluster)}"
    if "deletionTimestamp" in cluster["metadata"]:
        raise MoveError(f"{name} is being deleted; there is nothing to pivot")
    if is_paused(cluster):
        raise MoveError(
            f"{name} is paused, so that nobody would look after it; resume it with `kubectl patch "
            f"cluster {cluster['metadata']['name']} -n {cluster['metadata']['namespace']} "
            """--type merge -p '{"spec":{"paused":null}}'`, or finish the move that paused it"""
        )
    if not has_condition(cluster, "Available"):
        raise MoveError(
            f"{name} is not Available, and cannot look after itself: {unavailable(cluster)}; "
            f"`kapy describe cluster {cluster['metadata']['name']}` tells what it waits for"
        )


def unavailable(cluster: Document) -> str:
    """Return the reason for which a Cluster is not Available, in one line."""
    conditions: Sequence[Document] = (cluster.get("status") or {}).get("conditions") or ()
    for condition in conditions:
        if condition["type"] == "Available" and condition["status"] != "True":
            result = str(condition.get("message") or condition.get("reason") or "")
            return " ".join(part.strip("* ") for part in result.splitlines() if part.strip())
    return "it has no condition Available yet"


async def check_not_in_memory(source: Client, cluster: Document) -> None:
    """Raises MoveError for a cluster of the in-memory provider: it ends with its plane."""
    reference = (cluster.get("spec") or {}).get("infrastructureRef") or {}
    if reference.get("kind") != _DEV_CLUSTERS.kind:
        return
    key = Key(cluster["metadata"]["namespace"], reference.get("name", ""))
    try:
        result = await source.get(_DEV_CLUSTERS, key)
    except NotFound:
        return
    backend: dict[str, Any] = (result.get("spec") or {}).get("backend") or {}
    if "inMemory" in backend:
        raise MoveError(
            f"the machines of Cluster {Key.of(cluster)} exist in memory only, and run no Pods; "
            "a cluster of real machines can manage itself (`kapy generate cluster` with another "
            "--infrastructure). `kapy move` moves it to another management cluster"
        )


async def check_nodes(target: Client, name: str, kubeconfig: str) -> None:
    """Raises MoveError unless the cluster can run ControlPlaneAccess. kubeconfig: the path of its
    kubeconfig.
    """
    nodes = (await target.list(NODES)).items
    ready = [node for node in nodes if has_condition(node, "Ready")]
    if not nodes:
        raise MoveError(f"cluster {name} has no Node; wait until one of its Machines has joined it")
    if not ready:
        unready = next(_unready(nodes), "no Node tells why")
        way = f"`kubectl --kubeconfig {kubeconfig} describe nodes` tells more"
        if any(item in unready.lower() for item in _NO_NETWORK):
            way = (
                "it has no network for Pods (CNI); install one with `kubectl --kubeconfig "
                f"{kubeconfig} apply -f …`, then run this again"
            )
        raise MoveError(f"no Node of cluster {name} is Ready: {unready}; {way}")
    if all((item.get("spec") or {}).get("unschedulable") for item in ready):
        raise MoveError(
            f"all Nodes of cluster {name} that are Ready are cordoned; `kubectl --kubeconfig "
            f"{kubeconfig} uncordon {ready[0]['metadata']['name']}` lets Pods run there"
        )


def _unready(nodes: Sequence[Document]) -> Iterator[str]:
    for node in nodes:
        for condition in (node.get("status") or {}).get("conditions") or ():
            if condition["type"] == "Ready" and condition.get("message"):
                yield f"{node['metadata']['name']}: {condition['message']}"
