"""The cached objects of core's kinds, by the Cluster that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.engine.cache import Cache, Change, Informer
from kapy.kube import Document, Key
from kapy.kube.meta import ObjectMeta
from kapy.kube.names import Resource

BY_CLUSTER = "cluster"
BY_PROVIDER_ID = "providerID"
BY_NODE = "node"
BY_REFERENCE = "reference"
Path = tuple[str, ...]


class _NamesCluster(Protocol):
    cluster_name: str


class BelongsToCluster(Protocol):
    """A typed object whose spec names its Cluster."""

    @property
    def metadata(self) -> ObjectMeta: ...

    @property
    def spec(self) -> _NamesCluster: ...


class ClusterObjects:
    """The cached Clusters and their Machines, sets and pools. Documents are shared: read only."""

    def __init__(self, cache: Cache) -> None:
        self.clusters = cache.informer(Cluster)
        self.machines = _indexed_informer(cache, Machine.RESOURCE)
        self.machines.add_index(BY_NODE, _by_node)
        self.machines.add_index(BY_PROVIDER_ID, _by_provider_id)
        # Decoded once and shared: read only.
        self.machine_of = cache.informer(Machine).decode_shared
        self.machine_set_of = cache.informer(MachineSet).decode_shared
        self.deployment_of = cache.informer(MachineDeployment).decode_shared
        self.machine_sets = _indexed_informer(cache, MachineSet.RESOURCE)
        self.deployments = _indexed_informer(cache, MachineDeployment.RESOURCE)
        self.pools = _indexed_informer(cache, MachinePool.RESOURCE)

    def cluster_of(self, obj: BelongsToCluster) -> Cluster | None:
        """Return the Cluster that an object names, shared with other readers; None if it does not
        exist.
        """
        document = self.clusters.raw(Key(obj.metadata.namespace, obj.spec.cluster_name))
        return None if document is None else self.clusters.decode_shared(document)

    def machines_of(self, cluster: Key) -> Sequence[Document]:
        """Return the Machines of a Cluster, by name."""
        return self.machines.list_by_index(BY_CLUSTER, str(cluster))

    def machines_with(self, cluster: Key, provider_id: str) -> Sequence[Document]:
        """Return the Machines of a Cluster with a provider ID; normally one."""
        return self.machines.list_by_index(BY_PROVIDER_ID, f"{cluster} {provider_id}")

    def machine_sets_of(self, cluster: Key) -> Sequence[Document]:
        """Return the MachineSets of a Cluster, by name."""
        return self.machine_sets.list_by_index(BY_CLUSTER, str(cluster))

    def deployments_of(self, cluster: Key) -> Sequence[Document]:
        """Return the MachineDeployments of a Cluster, by name."""
        return self.deployments.list_by_index(BY_CLUSTER, str(cluster))

    def pools_of(self, cluster: Key) -> Sequence[Document]:
        """Return the MachinePools of a Cluster, by name."""
        return self.pools.list_by_index(BY_CLUSTER, str(cluster))


def cluster_of(document: Document) -> Key | None:
    """Return the Cluster of an object (`spec.clusterName`)."""
    name = document["spec"].get("clusterName")
    return Key(document["metadata"].get("namespace", ""), name) if name else None


def by_cluster(document: Document) -> Iterable[str]:
    """Return the values of a document for the index `BY_CLUSTER`."""
    cluster = cluster_of(document)
    return () if cluster is None else (str(cluster),)


def _by_provider_id(machine: Document) -> Iterable[str]:
    provider_id = machine["spec"].get("providerID")
    return (f"{cluster_of(machine)} {provider_id}",) if provider_id else ()


def _by_node(machine: Document) -> Iterable[str]:
    """Index a Machine by the name of its Node, or by its provider ID if the Node is not known."""
    cluster = cluster_of(machine)
    if name := ((machine.get("status") or {}).get("nodeRef") or {}).get("name"):
        yield f"{cluster}/{name}"
    if provider_id := machine["spec"].get("providerID"):
        yield f"{cluster}/{provider_id}"


def _indexed_informer(cache: Cache, resource: Resource) -> Informer[Document]:
    informer = cache.informer(resource)
    informer.add_index(BY_CLUSTER, by_cluster)
    return informer


def by_reference(informer: Informer[Document], *paths: Path) -> Callable[[Change], Iterable[Key]]:
    """Return a mapper from a provider's object to the objects of `informer` that refer to it.

    paths: the paths of the references in the objects of `informer`. The mapper works before any
    owner reference is set, so that the creation of a missing object enqueues the objects that wait
    for it.
    """
    index = f"{BY_REFERENCE} {paths}"

    def values(document: Document) -> Iterable[str]:
        namespace = document["metadata"].get("namespace", "")
        for path in paths:
            node: Any = document
            for part in path:
                node = node.get(part) if isinstance(node, dict) else None
            if node:
                yield f"{namespace}/{node.get('apiGroup')}/{node.get('kind')}/{node.get('name')}"

    def keys(change: Change) -> Iterable[Key]:
        document = change.document
        metadata, group = document["metadata"], document["apiVersion"].partition("/")[0]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        value = f"{namespace}/{group}/{document['kind']}/{name}"
        return informer.keys_by_index(index, value)

    informer.add_index(index, values)
    return keys


def on_create_or_delete(change: Change) -> Iterable[Key]:
    """Map the creation and deletion of an object to its key: these changes are not debounced."""
    return (Key.of(change.document),) if _is_create_or_delete(change) else ()


def on_update(change: Change) -> Iterable[Key]:
    """Map all other changes of an object to its key: many come from its own controller, or in
    bursts.
    """
    return () if _is_create_or_delete(change) else (Key.of(change.document),)


def _is_create_or_delete(change: Change) -> bool:
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    request, asks = (item["metadata"].get("deletionTimestamp") for item in (old, new))
    return bool(request) != bool(asks)
