"""The objects of one Cluster: in its management cluster, and in the workload cluster itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from kapy.api.names import Label
from kapy.client.client import Client
from kapy.clusterctl.debug.archive import Archive
from kapy.clusterctl.inventory import PROVIDERS
from kapy.clusterctl.kubeconfig import admin_kubeconfig
from kapy.clusterctl.move.graph import Graph, Node, class_of
from kapy.clusterctl.move.kinds import CLUSTER, CLUSTER_CLASS, MovedKind, moved_kinds
from kapy.clusterctl.server_from_here import Consoles, usable_kubeconfig
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import NODES, PODS, SECRETS, Resource

_EVENTS: Final = Resource("", "v1", "events", "Event")
_EXTENSIONS: Final = Resource(
    "runtime.cluster.x-k8s.io", "v1beta2", "extensionconfigs", "ExtensionConfig", namespaced=False
)
_DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")

_MAX_OBJECTS: Final = 500
"""The maximum number of objects of a kind."""
Dial = Callable[[str], AbstractAsyncContextManager[Client]]
"""Connects to the cluster of a kubeconfig's text. Raises KapyError."""


async def collect_objects(
    client: Client, cluster: Document, archive: Archive
) -> Sequence[Document]:
    """Add the objects and their events; returns the objects."""
    key = Key.of(cluster)
    graph = await _read(client, key.namespace, archive)
    result = [item for item in map(_document, _of_cluster(graph, key)) if item is not None]
    if not result:
        result = [cluster]
    for document in result:
        await archive.document(_path(document), document)
    await _events(client, key.namespace, result, archive)
    for resource, labels in ((PROVIDERS, ""), (_EXTENSIONS, ""), (_DEPLOYMENTS, Label.PROVIDER)):
        for document in await list_objects(client, resource, "", archive, labels=labels):
            await archive.document(_path({"kind": resource.kind, **document}), document)
    return result


async def list_objects(
    client: Client, resource: Resource, namespace: str, archive: Archive, *, labels: str = ""
) -> Sequence[Document]:
    """Return all objects of a kind; none if they cannot be read, which is noted in the archive."""
    try:
        items = (await client.list(resource, namespace, labels=labels)).items
    except NotFound:
        return []  # the kind is not served
    except KapyError as error:
        archive.missing.append(f"{resource.kind}s: {error}")
        return []
    return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]


async def _read(client: Client, namespace: str, archive: Archive) -> Graph:
    """Return all objects of the namespace that may belong to a Cluster.

    Secrets are read first, so that their values are removed from everything else.
    """
    kinds = await moved_kinds(client)
    graph = Graph(kinds)
    resources = sorted(
        (kind.resource for kind in kinds.values()), key=lambda value: value != SECRETS
    )
    for resource in resources:
        for document in await list_objects(client, resource, namespace, archive):
            if resource == SECRETS:
                archive.redactor.learn(document)
            graph.add(document, kinds.get(resource.group_kind) or MovedKind(resource))
    graph.complete()
    return graph


def _of_cluster(graph: Graph, key: Key) -> Iterable[Node]:
    """The objects below the Cluster or below its class, and the owners of these objects."""
    roots = {node for node in graph.of(CLUSTER) if node.ref.key == key}
    classes = {class_of(node.document) for node in roots if node.document is not None}
    roots |= {node for node in graph.of(CLUSTER_CLASS) if node.ref.key in classes}
    others = {node for node in graph.of(CLUSTER) if node.ref.key != key}
    chosen = set(roots)
    for node in graph.existing_nodes():
        is_below_another = bool(node.roots & others) or node in others
        if _label(node) == key.name or (node.roots & roots and not is_below_another):
            chosen |= {node, *(owner for owner in node.owners if owner.document is not None)}
    return sorted(chosen - others, key=lambda value: value.ref)


def _label(node: Node) -> str:
    labels = ((node.document or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(Label.CLUSTER_NAME, ""))


def _document(node: Node) -> Document | None:
    return node.document


async def _events(
    client: Client, namespace: str, objects: Sequence[Document], archive: Archive
) -> None:
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in objects}
    events = [
        obj
        for obj in await list_objects(client, _EVENTS, namespace, archive)
        if (about := obj.get("involvedObject") or {})
        and (about.get("kind"), about.get("name")) in names
    ]
    lines = sorted(map(_event_line, events))
    await archive.text("events.txt", "".join(lines))


def _event_line(event: Document) -> str:
    """Return an event as one line, which begins with its time."""
    about = event.get("involvedObject") or {}
    when = event.get("lastTimestamp") or event.get("eventTime") or ""
    count = event.get("count") or 1
    message = " ".join(str(event.get("message", "")).split())
    kind, name = about.get("kind", ""), about.get("name", "")
    what = f"{event.get('type', '')} {event.get('reason', '')}"
    return f"{when} {what} {kind}/{name} ({count}x) {message}\n"


def _path(document: Document) -> str:
    metadata = document["metadata"]
    folder = metadata.get("namespace") or "-"
    return f"objects/{folder}/{document['kind']}/{metadata['name']}.yaml"


async def collect_workload(
    client: Client, cluster: Key, dial: Dial, consoles: Consoles, archive: Archive
) -> None:
    """Add the readable objects of the workload cluster."""
    try:
        stored = await admin_kubeconfig(client, cluster)
        text = await usable_kubeconfig(client, cluster, stored, consoles)
        async with dial(text) as workload:
            version = await workload.raw("GET", "/version")
            await archive.document("versions/workload-cluster.yaml", version)
            for resource in (NODES, PODS):
                objects = await list_objects(workload, resource, "", archive)
                for item in objects[:_MAX_OBJECTS]:
                    key = Key.of(item)
                    name = f"{key.namespace}.{key.name}" if key.namespace else key.name
                    await archive.document(f"workload/{resource.plural}/{name}.yaml", item)
                if len(objects) > _MAX_OBJECTS:
                    archive.missing.append(
                        f"workload cluster: {len(objects) - _MAX_OBJECTS} of {len(objects)} "
                        f"{resource.plural}"
                    )
            events = await list_objects(workload, _EVENTS, "", archive)
            await archive.text("workload/events.txt", "".join(sorted(map(_event_line, events))))
    except KapyError as error:
        archive.missing.append(f"workload cluster: {error}")
