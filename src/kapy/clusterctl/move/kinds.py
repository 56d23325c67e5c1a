"""The kinds that a move considers: those of CRDs that clusterctl installed, ConfigMaps and
Secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kapy.api.names import Label
from kapy.client.client import Client
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.retry import retry
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, CRDS, SECRETS, GroupKind, Resource

MOVE: Final = Label.CLUSTERCTL_MOVE
"""Label of objects that are moved regardless of their owners; on a CRD, for all its objects."""
MOVE_HIERARCHY: Final = Label.CLUSTERCTL_MOVE_HIERARCHY
"""Label of objects that are moved with everything below them; on a CRD, for all its objects."""

CLUSTER: Final = GroupKind("cluster.x-k8s.io", "Cluster")
CLUSTER_CLASS: Final = GroupKind("cluster.x-k8s.io", "ClusterClass")
MACHINE: Final = GroupKind("cluster.x-k8s.io", "Machine")
RESOURCE_SET: Final = GroupKind("addons.cluster.x-k8s.io", "ClusterResourceSet")
BINDING: Final = GroupKind("addons.cluster.x-k8s.io", "ClusterResourceSetBinding")
SECRET: Final = SECRETS.group_kind

_HIERARCHIES: Final = frozenset({CLUSTER, CLUSTER_CLASS, RESOURCE_SET})


@dataclass(frozen=True)
class MovedKind:
    """A kind in its storage version.

    moves: all its objects are moved. hierarchy: together with everything below them. status: the
    kind has a status subresource, which is never written with the object.
    """

    resource: Resource
    moves: bool = False
    hierarchy: bool = False
    status: bool = False


MovedKinds: TypeAlias = Mapping[GroupKind, MovedKind]


async def moved_kinds(client: Client) -> MovedKinds:
    """Return the kinds of a management cluster. Raises ApiErrors and Unreachable."""
    listed = await retry(lambda: client.list(CRDS, labels=CLUSTERCTL_LABEL))
    return kinds_of(listed.items)


def kinds_of(crds: Iterable[Document]) -> MovedKinds:
    """Return the kinds of labelled CRDs, and the kinds that every move considers."""
    result = {moved_kind.resource.group_kind: moved_kind for moved_kind in map(_kind, crds)}
    for resource in (SECRETS, CONFIG_MAPS):
        result[resource.group_kind] = MovedKind(resource)
    return result


def resource_of(crd: Document) -> Resource:
    """Return the resource of a CRD's objects in the storage version."""
    spec = crd["spec"]
    names = spec["names"]
    version = _storage_version(crd)["name"]
    namespaced = spec["scope"] == "Namespaced"
    return Resource(spec["group"], version, names["plural"], names["kind"], namespaced)


def _kind(crd: Document) -> MovedKind:
    resource = resource_of(crd)
    labels = crd["metadata"].get("labels") or {}
    hierarchy = resource.group_kind in _HIERARCHIES or MOVE_HIERARCHY in labels
    status = "status" in (_storage_version(crd).get("subresources") or {})
    return MovedKind(resource, hierarchy or MOVE in labels, hierarchy, status)


def _storage_version(crd: Document) -> Document:
    version: Document = next(item for item in crd["spec"]["versions"] if item["storage"])
    return version
