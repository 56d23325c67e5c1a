"""Our own kinds as the cache holds them, found by the Cluster that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.engine.cache import Cache, Change, Informer
from kapy.kube import Document, Key
from kapy.kube.names import Resource

BY_CLUSTER = "cluster"
BY_PROVIDER_ID = "providerID"
BY_NODE = "node"
BY_REFERENCE = "reference"
Path = tuple[str, ...]


class Fleet:
    """Clusters, and what is in them. Documents are shared: read only."""

    def __init__(self, cache: Cache) -> None:
        self.clusters = cache.informer(Cluster)
        self.machines = _indexed(cache, Machine.RESOURCE)
        self.machines.add_index(BY_NODE, _by_node)
        self.machines.add_index(BY_PROVIDER_ID, _by_provider_id)
        # Typed, and shared too: read only.
        self.machine_of = cache.informer(Machine).shared
        self.machine_set_of = cache.informer(MachineSet).shared
        self.deployment_of = cache.informer(MachineDeployment).shared
        self.machine_sets = _indexed(cache, MachineSet.RESOURCE)
        self.deployments = _indexed(cache, MachineDeployment.RESOURCE)
        self.pools = _indexed(cache, MachinePool.RESOURCE)

    def machines_of(self, cluster: Key) -> Sequence[Document]:
        """The Machines of a Cluster, in the order of names."""
        return self.machines.indexed(BY_CLUSTER, str(cluster))

    def machines_with(self, cluster: Key, provider_id: str) -> Sequence[Document]:
        """The Machines of a Cluster that have a provider ID; there should be one."""
        return self.machines.indexed(BY_PROVIDER_ID, f"{cluster} {provider_id}")

    def machine_sets_of(self, cluster: Key) -> Sequence[Document]:
        """The MachineSets of a Cluster, in the order of names."""
        return self.machine_sets.indexed(BY_CLUSTER, str(cluster))

    def deployments_of(self, cluster: Key) -> Sequence[Document]:
        """The MachineDeployments of a Cluster, in the order of names."""
        return self.deployments.indexed(BY_CLUSTER, str(cluster))

    def pools_of(self, cluster: Key) -> Sequence[Document]:
        """The MachinePools of a Cluster, in the order of names."""
        return self.pools.indexed(BY_CLUSTER, str(cluster))


def cluster_of(document: Document) -> Key | None:
    """The Cluster that one of our objects belongs to (`spec.clusterName`)."""
    name = document["spec"].get("clusterName")
    return Key(document["metadata"].get("namespace", ""), name) if name else None


def by_cluster(document: Document) -> Iterable[str]:
    """The values of the index `BY_CLUSTER`."""
    cluster = cluster_of(document)
    return () if cluster is None else (str(cluster),)


def _by_provider_id(machine: Document) -> Iterable[str]:
    provider_id = machine["spec"].get("providerID")
    return (f"{cluster_of(machine)} {provider_id}",) if provider_id else ()


def _by_node(machine: Document) -> Iterable[str]:
    """By the name of its Node, and by its provider ID as long as nothing else is known."""
    cluster = cluster_of(machine)
    if name := ((machine.get("status") or {}).get("nodeRef") or {}).get("name"):
        yield f"{cluster}/{name}"
    if provider_id := machine["spec"].get("providerID"):
        yield f"{cluster}/{provider_id}"


def _indexed(cache: Cache, resource: Resource) -> Informer[Document]:
    informer = cache.informer(resource)
    informer.add_index(BY_CLUSTER, by_cluster)
    return informer


def referring(informer: Informer[Document], *paths: Path) -> Callable[[Change], Iterable[Key]]:
    """Maps a change of a provider's object to the objects of `informer` that refer to it.

    paths: where their references stand. It finds them before any owner reference is set, so that
    an object which is waited for wakes who waits.
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
        return (Key.of(one) for one in informer.indexed(index, value))

    informer.add_index(index, values)
    return keys


def own_life(change: Change) -> Iterable[Key]:
    """The object itself when it appears, is asked to go, or is gone: that cannot wait."""
    return (Key.of(change.document),) if _begins_or_ends(change) else ()


def own_change(change: Change) -> Iterable[Key]:
    """The object itself when anything else of it changed: often its controller's own doing, and
    often one of several changes on a heap."""
    return () if _begins_or_ends(change) else (Key.of(change.document),)


def _begins_or_ends(change: Change) -> bool:
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    asked, asks = (one["metadata"].get("deletionTimestamp") for one in (old, new))
    return bool(asked) != bool(asks)
