"""Reads the objects of a management cluster that a move considers.

These are the objects of the considered kinds in the namespace, cluster-scoped ones, the Secrets in
the namespaces of infrastructure providers, and ClusterClasses of other namespaces that Clusters in
this namespace use, with their templates. Each kind takes one paged request; all run concurrently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from kapy.client.client import Client
from kapy.client.kinds import Kinds
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.move.graph import Graph, class_of, ref_of
from kapy.clusterctl.move.kinds import (
    CLUSTER,
    CLUSTER_CLASS,
    MovedKind,
    MovedKinds,
    moved_kinds,
    resource_of,
)
from kapy.clusterctl.move.log import Log, no_log
from kapy.clusterctl.move.plan import LeftBehind
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, SECRETS, GroupKind, Resource, split_api_version


async def discover(client: Client, namespace: str, log: Log = no_log) -> Graph:
    """Return the object graph of a namespace ("": all namespaces). Raises ApiErrors and
    Unreachable.
    """
    log(0, "Discovering Cluster API objects")
    kinds = await moved_kinds(client)
    graph = Graph(kinds)
    places = [(moved_kind.resource, namespace) for moved_kind in kinds.values()]
    gather = await bounded_gather([partial(list_objects, client, *place) for place in places])
    elsewhere = await _provider_secrets(client)
    for (resource, _), documents in zip(places, gather, strict=True):
        more = elsewhere if resource is SECRETS else []
        if documents or more:
            log(5, resource.kind, count=len(documents) + len(more))
        for document in (*documents, *more):
            graph.add(document)
    for document, kind in await _foreign_classes(client, graph, namespace):
        graph.add(document, kind)
    log(1, "Total objects", count=len(graph.nodes))
    graph.complete()
    await _keep_shared_objects(client, graph, namespace)
    return graph


async def ignored_objects(client: Client, kinds: MovedKinds, namespace: str) -> list[LeftBehind]:
    """Return the objects of a namespace whose CRDs have no clusterctl label."""
    crds = await retry(lambda: client.list(CRDS))
    foreign = [
        resource for resource in map(resource_of, crds.items) if resource.group_kind not in kinds
    ]
    chosen = [resource for resource in foreign if resource.namespaced]
    gather = await bounded_gather(
        [partial(list_objects, client, resource, namespace) for resource in chosen]
    )
    return [
        LeftBehind(
            ref_of(document),
            f"its CRD {resource.group_resource} has no label {CLUSTERCTL_LABEL}, which clusterctl "
            "gives to those of providers that it installs",
        )
        for resource, documents in zip(chosen, gather, strict=True)
        for document in documents
    ]


async def list_objects(client: Client, resource: Resource, namespace: str) -> Sequence[Document]:
    """Return all objects of a kind; none if the kind is not served."""
    try:
        return (await retry(lambda: client.list(resource, namespace))).items
    except NotFound:
        return ()


async def _provider_secrets(client: Client) -> list[Document]:
    namespaces = {
        installed.namespace
        for installed in await Inventory(client).installed()
        if installed.type is ProviderType.INFRASTRUCTURE
    }
    gather = await bounded_gather(
        [partial(list_objects, client, SECRETS, namespace) for namespace in sorted(namespaces)]
    )
    return [document for documents in gather for document in documents]


async def _foreign_classes(
    client: Client, graph: Graph, namespace: str
) -> list[tuple[Document, MovedKind]]:
    """ClusterClasses of other namespaces that Clusters in this one use, and their templates."""
    if CLUSTER_CLASS not in graph.kinds or not namespace:
        return []
    kind = graph.kinds[CLUSTER_CLASS]
    keys = {class_of(node.document) for node in graph.of(CLUSTER) if node.document}
    classes: list[tuple[Document, MovedKind]] = []
    for key in sorted(entry for entry in keys if entry.name and entry.namespace != namespace):
        cluster_class = await retry(partial(client.get, kind.resource, key))
        classes.append((cluster_class, kind))
        classes += await _templates(client, graph.kinds, cluster_class)
    return classes


async def _templates(
    client: Client, kinds: MovedKinds, cluster_class: Document
) -> list[tuple[Document, MovedKind]]:
    served = Kinds(client)
    namespace = cluster_class["metadata"]["namespace"]
    references = {
        (reference["apiVersion"], reference["kind"], reference["name"])
        for reference in _references(cluster_class.get("spec"))
    }

    async def read(api_version: str, name: str, of: str) -> tuple[Document, MovedKind]:
        kind = await kind_of({"apiVersion": api_version, "kind": name}, kinds, served)
        return await retry(lambda: client.get(kind.resource, Key(namespace, of))), kind

    return await bounded_gather([partial(read, *reference) for reference in sorted(references)])


async def kind_of(document: Document, kinds: MovedKinds, served: Kinds) -> MovedKind:
    """Return the kind of an object, even if its CRD has no label. Raises UnknownKind."""
    group, _ = split_api_version(document["apiVersion"])
    moved_kind = kinds.get(GroupKind(group, document["kind"]))
    return moved_kind or MovedKind(await served.of(document))


def _references(value: Any) -> Iterator[Document]:
    """Every `templateRef` in a ClusterClass, at any depth."""
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        if isinstance(value.get("templateRef"), dict):
            yield value["templateRef"]
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    for item in inner:
        yield from _references(item)


async def _keep_shared_objects(client: Client, graph: Graph, namespace: str) -> None:
    """Keep the ClusterClasses of other namespaces, and those that Clusters of other namespaces
    use."""
    classes = {node.ref.key: node for node in graph.of(CLUSTER_CLASS)}
    if not namespace or not classes:
        return
    clusters = await list_objects(client, graph.kinds[CLUSTER].resource, "")
    outside = [cluster for cluster in clusters if cluster["metadata"]["namespace"] != namespace]
    used = {class_of(item) for item in outside}
    for key, node in classes.items():
        if key.namespace != namespace or key in used:
            graph.keep(node)
