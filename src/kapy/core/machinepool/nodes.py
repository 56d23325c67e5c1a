"""Phases: find the Nodes of a pool's machines by their provider IDs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kapy.api.core_v1 import ObjectReference
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation
from kapy.api.times import moment
from kapy.api.wording import shorten
from kapy.client.client import Client
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.cache import Informer
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected
from kapy.remote.nodes import nodes_with, provider_id_of

UNINITIALIZED: Final = ("node.cluster.x-k8s.io/uninitialized", "NoSchedule")


async def read_nodes(scope: MachinePoolScope) -> Result:
    """Watch the Nodes of the workload cluster; its connection enqueues the pool."""
    dependencies = scope.dependencies
    try:
        scope.nodes = dependencies.remote.watch(
            dependencies.controller, scope.cluster.key, NODES, dependencies.node_keys
        )
    except NotConnected:
        scope.nodes = None
    return DONE


async def reconcile_nodes(scope: MachinePoolScope) -> Result:
    """Record and count the Nodes, sync their metadata, and delete those whose machines are gone
    (their provider ID is not in the list any more).
    """
    pool, nodes = scope.pool, scope.nodes
    ids = pool.spec.provider_id_list
    if nodes is None or (not ids and pool.spec.replicas != 0):
        return DONE
    client = scope.dependencies.remote.client(scope.cluster.key)
    await _delete_retired(client, nodes, pool)
    result = [node for item in ids for node in nodes_with(nodes, item)]
    if ids and not result and not pool.status.node_refs:
        return DONE  # no Node exists yet; a new Node enqueues the pool
    _record_references(scope, result)
    for node in result:
        if patch := node_patch(node, pool):
            await client.patch(NODES, Key("", node["metadata"]["name"]), patch)
    return _count(scope, result)


async def _delete_retired(client: Client, nodes: Informer[Document], pool: MachinePool) -> None:
    listed = set(pool.spec.provider_id_list)
    for ref in pool.status.node_refs:
        node = nodes.raw(Key("", ref.name))
        provider_id = "" if node is None else provider_id_of(node)
        if node is not None and provider_id and provider_id not in listed:
            await delete_node(client, node)


async def delete_node(client: Client, node: Document) -> None:
    """Delete this Node by its uid, if it exists."""
    metadata = node["metadata"]
    try:
        await client.delete(NODES, Key("", metadata["name"]), uid=metadata["uid"])
    except NotFound:
        return


def _record_references(scope: MachinePoolScope, nodes: Sequence[Document]) -> None:
    status = scope.pool.status
    refs = [
        ObjectReference(
            api_version="v1",
            kind="Node",
            name=node["metadata"]["name"],
            uid=node["metadata"]["uid"],
        )
        for node in nodes
    ]
    if refs != status.node_refs:
        status.node_refs = refs
        names = shorten([ref.name for ref in refs], 10)
        scope.dependencies.events.normal(scope.pool, "SuccessfulSetNodeRefs", names)


class Readiness(NamedTuple):
    """The numbers of ready and of available Nodes. due: the time when the next ready Node becomes
    available; None if no Node waits for that.
    """

    ready: int
    available: int
    due: datetime | None


def readiness(nodes: Iterable[Document], least: timedelta, now: datetime) -> Readiness:
    """Count the ready and the available Nodes. least: the time for which a Node must be ready to be
    available.
    """
    since = [time for node in nodes if (time := _ready_since(node, now)) is not None]
    waiting = [time + least for time in since if least and time + least > now]
    return Readiness(len(since), len(since) - len(waiting), min(waiting, default=None))


def _ready_since(node: Document, now: datetime) -> datetime | None:
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            if condition["status"] != "True":
                return None
            time = condition.get("lastTransitionTime")
            return moment(time) if time else now
    return None


def _count(scope: MachinePoolScope, nodes: Sequence[Document]) -> Result:
    """Set the v1beta1 replica counters, which count Nodes whether or not there are Machines."""
    pool, now = scope.pool, scope.dependencies.remote.now(scope.cluster.key)
    least = timedelta(seconds=pool.spec.template.spec.min_ready_seconds or 0)
    count, legacy = readiness(nodes, least, now), scope.legacy
    legacy.ready_replicas, legacy.available_replicas = count.ready, count.available
    legacy.unavailable_replicas = (pool.status.replicas or 0) - count.available
    if count.due is None:
        return DONE
    # A timer, because no event marks the end of minReadySeconds.
    because = "a Node is not ready for spec.template.spec.minReadySeconds yet"
    return requeue(after=min(count.due - now, least), because=because)


def node_patch(node: Document, pool: MachinePool) -> Document:
    """Return the merge patch with a pool's annotations that admits workloads to a Node; {} if
    nothing changes.

    A patch of taints carries the resourceVersion from which it was computed, since taints have
    other writers.
    """
    metadata = node["metadata"]
    wanted = {
        Annotation.CLUSTER_NAME: pool.spec.cluster_name,
        Annotation.CLUSTER_NAMESPACE: pool.metadata.namespace,
        Annotation.OWNER_KIND: pool.RESOURCE.kind,
        Annotation.OWNER_NAME: pool.metadata.name,
    }
    has = metadata.get("annotations") or {}
    patch: Document = {}
    if missing := {name: value for name, value in wanted.items() if has.get(name) != value}:
        patch["metadata"] = {"annotations": missing}
    taints = (node.get("spec") or {}).get("taints") or []
    remaining = [
        taint for taint in taints if (taint.get("key"), taint.get("effect")) != UNINITIALIZED
    ]
    if remaining != taints:
        patch["spec"] = {"taints": remaining or None}
        version = {"resourceVersion": metadata["resourceVersion"]}
        patch["metadata"] = {**patch.get("metadata", {}), **version}
    return patch
