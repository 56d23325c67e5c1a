"""Repair the managed fields of objects that a kube-apiserver has lost.

A kube-apiserver may drop all `managedFields` of an object (kubernetes/kubernetes#136919). The next
apply then creates an entry `before-first-apply` that owns all fields permanently, so that
server-side apply can remove none of them any more. This module removes that entry and adds the
controller's own one if it is missing. Clusters, which upstream once applied and now patches, have
no entry of their own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.times import stamp
from kapy.core.topology.intent import MANAGER
from kapy.core.topology.scope import Dependencies
from kapy.engine.cache import Informer
from kapy.kube import Document, Key
from kapy.kube.apply.fields import html_safe
from kapy.kube.errors import NotFound
from kapy.kube.meta import Object
from kapy.kube.names import Resource
from kapy.kube.nested import value_at
from kapy.topology.state import ClusterState

BEFORE: Final = "before-first-apply"
PATCHER: Final = "manager"
"""Upstream's name for the field manager that patches Clusters."""

_ARGUMENTS: Final = tuple(
    ("spec", "kubeadmConfigSpec", *path)
    for path in (
        ("clusterConfiguration", "apiServer", "extraArgs"),
        ("clusterConfiguration", "controllerManager", "extraArgs"),
        ("clusterConfiguration", "scheduler", "extraArgs"),
        ("clusterConfiguration", "etcd", "local", "extraArgs"),
        ("initConfiguration", "nodeRegistration", "kubeletExtraArgs"),
        ("joinConfiguration", "nodeRegistration", "kubeletExtraArgs"),
    )
)
"""Where control planes have arguments, which are the first to be missed when they cannot go."""


def migrated_entries(document: Document, now: datetime) -> list[Document] | None:
    """Return the repaired entries; None if nothing has to be repaired."""
    is_cluster = document["kind"] == Cluster.RESOURCE.kind
    wrong = {BEFORE, MANAGER} if is_cluster else {BEFORE}
    entries = document["metadata"].get("managedFields") or []
    remaining = [entry for entry in entries if entry.get("manager") not in wrong]
    if entries and len(remaining) == len(entries):
        return None
    if is_cluster:
        return remaining or [_entry(document, PATCHER, "Update", _NAME, now)]
    if not any(item.get("manager") == MANAGER for item in remaining):
        remaining.append(_entry(document, MANAGER, "Apply", _owned_fields(document), now))
    return remaining


async def migrate_managed_fields(
    dependencies: Dependencies, current: ClusterState, now: datetime
) -> bool:
    """Repair the entries of all objects of a cluster; return whether any was wrong.

    The entries are read from the server: a cache over a network does not store them completely.
    Raises the client's errors; Conflict if an object has changed meanwhile.
    """
    result = False
    for resource, cached in [entry async for entry in _documents(dependencies, current)]:
        if migrated_entries(cached, now) is None:
            continue
        try:
            document = await dependencies.client.get(resource, Key.of(cached))
        except NotFound:
            continue
        entries = migrated_entries(document, now)
        if entries is None:
            continue
        result = True
        operation = "replace" if document["metadata"].get("managedFields") else "add"
        version = document["metadata"]["resourceVersion"]
        patch = [
            {"op": operation, "path": "/metadata/managedFields", "value": entries},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]
        await dependencies.client.patch(resource, Key.of(document), patch)
    return result


async def _documents(
    dependencies: Dependencies, current: ClusterState
) -> AsyncIterator[tuple[Resource, Document]]:
    objects, plane = dependencies.fleet, current.control_plane
    own: list[tuple[Informer[Any], Object | None]] = [
        (objects.clusters, current.cluster),
        (dependencies.health_checks, plane.machine_health_check),
    ]
    provided = [
        current.infrastructure_cluster,
        plane.object,
        plane.infrastructure_machine_template,
    ]
    for group in current.machine_deployments.values():
        own += [
            (dependencies.health_checks, group.machine_health_check),
            (objects.deployments, group.object),
        ]
        provided += [group.bootstrap_template, group.infrastructure_machine_template]
    for pool in current.machine_pools.values():
        own.append((objects.pools, pool.object))
        provided += [pool.bootstrap_object, pool.infrastructure_machine_pool_object]
    for document in provided:
        if document is not None:
            yield await dependencies.external.resource_of(document), document
    for informer, item in own:
        document = None if item is None else informer.raw(item.key)
        if document is not None:
            yield informer.resource, document


_NAME: Final[Document] = {"f:metadata": {"f:name": {}}}
"""Something has to be owned; this is let go with the next apply."""


def _entry(
    document: Document, manager: str, operation: str, fields: Document, now: datetime
) -> Document:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": document["apiVersion"],
        "time": stamp(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _owned_fields(document: Document) -> Document:
    """Return the fields that the controller must have applied."""
    if document["kind"] != "KubeadmControlPlane":
        return _NAME
    owned: Document = {}
    for path in _ARGUMENTS:
        if items := dict(_items(value_at(document, path))):
            node = owned
            for part in path[:-1]:
                node = node.setdefault(f"f:{part}", {})
            node[f"f:{path[-1]}"] = items
    return owned or _NAME


def _items(arguments: Any) -> Iterator[tuple[str, Document]]:
    """Return the arguments as managed fields: a list of names and values (v1beta2), or a map
    (v1beta1).
    """
    if isinstance(arguments, dict):
        yield from ((f"f:{name}", {}) for name in arguments)
    elif isinstance(arguments, list):
        for argument in arguments:
            keys = {"name": argument.get("name", ""), "value": argument.get("value", "")}
            text = json.dumps(keys, separators=(",", ":"), ensure_ascii=False)
            yield f"k:{html_safe(text)}", {".": {}, "f:name": {}, "f:value": {}}
