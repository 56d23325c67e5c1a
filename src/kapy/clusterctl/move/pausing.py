"""Pauses Clusters and ClusterClasses, and waits for objects that block the move."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.copying import names_of
from kapy.clusterctl.move.graph import Node, Ref
from kapy.clusterctl.move.kinds import CLUSTER, CLUSTER_CLASS
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import wait_until
from kapy.kube import Document
from kapy.kube.errors import NotFound
from kapy.kube.names import GroupKind, Resource

BLOCK_MOVE: Final = "clusterctl.cluster.x-k8s.io/block-move"
"""Annotation of objects that cannot be moved yet because their controller must act first."""
BLOCK_TIMEOUT: Final = 380.0
"""Seconds that objects may block the move: the duration of upstream's back-off."""

_RESOURCES: Final = {
    CLUSTER: Resource(CLUSTER.group, "v1beta2", "clusters", CLUSTER.kind),
    CLUSTER_CLASS: Resource(CLUSTER_CLASS.group, "v1beta2", "clusterclasses", CLUSTER_CLASS.kind),
}


def is_paused(document: Document) -> bool:
    """Return whether a Cluster or a ClusterClass is paused."""
    annotations = document["metadata"].get("annotations") or {}
    return bool((document.get("spec") or {}).get("paused")) or Annotation.PAUSED in annotations


async def pause(client: Client, refs: Iterable[Ref], log: Log, side: str = "source") -> None:
    """Pause the Clusters, then the ClusterClasses, as far as they exist. It can be repeated."""
    chosen = sorted(refs)
    log(1, f"Pausing the {side} cluster")
    await _set(client, chosen, CLUSTER, log, paused=True)
    log(1, f"Pausing the {side} ClusterClasses")
    await _set(client, chosen, CLUSTER_CLASS, log, paused=True)


async def resume(client: Client, refs: Iterable[Ref], log: Log, side: str = "target") -> None:
    """Resume the ClusterClasses, then the Clusters. It can be repeated."""
    chosen = sorted(refs)
    log(1, "Resuming the target ClusterClasses")
    await _set(client, chosen, CLUSTER_CLASS, log, paused=False)
    log(1, f"Resuming the {side} cluster")
    await _set(client, chosen, CLUSTER, log, paused=False)


async def wait_until_unblocked(client: Client, nodes: Iterable[Node], log: Log) -> bool:
    """Wait until no object blocks the move; returns whether one did. Raises MoveError after the
    time limit."""
    blocking: list[Node] = []
    for node in nodes:
        if _is_blocking(node.document):
            blocking.append(node)
        else:
            log(5, "Resource not blocking move", **_resource_of(node))
    for node in blocking:
        log(
            0,
            f"Move blocked by {BLOCK_MOVE} annotation, waiting for it to be removed",
            **_resource_of(node),
        )
    try:
        async with asyncio.timeout(BLOCK_TIMEOUT):
            await bounded_gather([partial(_until_ready, client, node) for node in blocking])
    except TimeoutError:
        names = names_of(node.ref for node in blocking)
        raise MoveError(
            f"{names} still has the annotation {BLOCK_MOVE} after {BLOCK_TIMEOUT:.0f} s; see what "
            "its controller says, then go on with --resume, or undo the move with --rollback"
        ) from None
    return bool(blocking)


async def _until_ready(client: Client, node: Node) -> None:
    assert node.kind is not None
    await wait_until(
        client,
        node.kind.resource,
        node.ref.key,
        lambda result: not _is_blocking(result),
        within=BLOCK_TIMEOUT,
    )


def _is_blocking(document: Document | None) -> bool:
    return document is not None and BLOCK_MOVE in (document["metadata"].get("annotations") or {})


async def _set(
    client: Client, refs: Iterable[Ref], kind: GroupKind, log: Log, *, paused: bool
) -> None:
    patch = _PATCHES[kind](paused)
    chosen = [ref for ref in refs if ref.group_kind == kind]
    for ref in chosen:
        if kind == CLUSTER:
            result = {"name": ref.name, "namespace": ref.namespace}
            log(5, "Set Cluster.Spec.Paused", paused=paused, Cluster=result)
        else:
            what = "Set Paused annotation" if paused else "Remove Paused annotation"
            log(5, what, ClusterClass=ref.name, Namespace=ref.namespace)
    await bounded_gather([partial(_patch, client, ref, patch) for ref in chosen])


async def _patch(client: Client, ref: Ref, patch: Document) -> None:
    with suppress(NotFound):
        await retry(lambda: client.patch(_RESOURCES[ref.group_kind], ref.key, patch))


def _pause_cluster(paused: bool) -> Document:  # noqa: FBT001
    # Removed instead of set to false, so that no manager owns the field.
    return {"spec": {"paused": True if paused else None}}


def _pause_class(paused: bool) -> Document:  # noqa: FBT001
    return {"metadata": {"annotations": {Annotation.PAUSED: "" if paused else None}}}


_PATCHES: Final = {CLUSTER: _pause_cluster, CLUSTER_CLASS: _pause_class}


def _resource_of(node: Node) -> Document:
    ref = node.ref
    version = "" if node.kind is None else node.kind.resource.version
    return {
        "apiVersion": {"Group": ref.group, "Version": version, "Kind": ref.kind},
        "resource": {"name": ref.name, "namespace": ref.namespace},
    }
