"""Look-up of the owners of a provider's object: Machine, MachinePool or Cluster, and the pool of a
Machine. Core sets the owner references.
"""

from __future__ import annotations

from typing import TypeVar

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import CLUSTER_GROUP, Annotation, Label
from kapy.engine.cache import Informer
from kapy.engine.result import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import Object, ObjectMeta, OwnerReference, controller_of
from kapy.kube.names import split_api_version
from kapy.sdk.results import Endpoint

O = TypeVar("O", bound=Object)  # noqa: E741


def _owner_of_kind(metadata: ObjectMeta, kind: type[Object]) -> OwnerReference | None:
    """Return the owner reference of one of core's kinds, in any version."""
    wanted = kind.RESOURCE.kind
    for reference in metadata.owner_references:
        if reference.kind == wanted and split_api_version(reference.api_version)[0] == (
            CLUSTER_GROUP
        ):
            return reference
    return None


def cached_owner(informer: Informer[O], metadata: ObjectMeta, kind: type[O]) -> O | None:
    """Return the owner of a kind from the cache; None if there is no reference, or the cache does
    not hold this very object (yet): it may still hold a former one of the same name.
    """
    reference = _owner_of_kind(metadata, kind)
    if reference is None:
        return None
    owner = informer.get(Key(metadata.namespace, reference.name))
    return owner if owner is not None and owner.metadata.uid == reference.uid else None


def machine_key(metadata: ObjectMeta) -> Key | None:
    """Return the Machine that owns the object, None when no reference is set (yet)."""
    reference = _owner_of_kind(metadata, Machine)
    return None if reference is None else Key(metadata.namespace, reference.name)


def machine_of(document: Document) -> Key | None:
    """Return the owning Machine of a document, as `machine_key` does."""
    metadata = document["metadata"]
    for reference in metadata.get("ownerReferences") or ():
        if reference["kind"] == Machine.RESOURCE.kind:
            group, _ = split_api_version(reference["apiVersion"])
            if group == CLUSTER_GROUP:
                return Key(metadata.get("namespace", ""), reference["name"])
    return None


def pool_key(metadata: ObjectMeta) -> Key | None:
    """Return the MachinePool that owns the object, None when no reference is set (yet)."""
    reference = _owner_of_kind(metadata, MachinePool)
    return None if reference is None else Key(metadata.namespace, reference.name)


def cluster_key(metadata: ObjectMeta) -> Key | None:
    """Return the Cluster that owns the object, None when no reference is set (yet)."""
    reference = _owner_of_kind(metadata, Cluster)
    return None if reference is None else Key(metadata.namespace, reference.name)


def labelled_cluster(metadata: ObjectMeta) -> Key | None:
    """Return the Cluster that the object's label names."""
    name = metadata.labels.get(Label.CLUSTER_NAME)
    return Key(metadata.namespace, name) if name else None


def endpoint_of(cluster: Cluster | None) -> Endpoint | None:
    """Return the cluster's API endpoint, None if it is not set."""
    api_endpoint = None if cluster is None else cluster.spec.control_plane_endpoint
    return (
        Endpoint(api_endpoint.host, api_endpoint.port)
        if api_endpoint is not None and api_endpoint.host
        else None
    )


def is_externally_managed(metadata: ObjectMeta) -> bool:
    """Return whether the object is externally managed (contract)."""
    return Annotation.MANAGED_BY in metadata.annotations


class Pools:
    """Looks up the MachinePools of Machines. MachinePools are watched once a machine of a pool
    exists.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: Informer[MachinePool] | None = None

    def of(self, machine: Machine) -> MachinePool | None:
        """Return the pool of the Machine, None if it has none. Raises NotYet."""
        owner = controller_of(machine)
        if owner is None or owner.kind != MachinePool.RESOURCE.kind:
            return None
        if split_api_version(owner.api_version)[0] != CLUSTER_GROUP:
            return None
        if self._known is None:
            self._known = self._runtime.cache.informer(MachinePool)
        pool = self._known.get(Key(machine.metadata.namespace, owner.name))
        if pool is None:
            raise NotYet(f"MachinePool {machine.metadata.namespace}/{owner.name} is not there")
        return pool
