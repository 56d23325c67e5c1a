"""The ownership graph of a management cluster's objects, and which of them are moved. Pure.

The rules are those of the clusterctl contract. An object is moved if it is below a Cluster, a
ClusterClass, a ClusterResourceSet or an object labelled `move-hierarchy`, or if the object or its
CRD is labelled `move`. An object is below its owners. Some links have no owner reference, only a
name: a Cluster's own certificates are below the Cluster, a Cluster is below its ClusterClass, and a
ClusterResourceSetBinding is below its Cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kapy.clusterctl.move.kinds import (
    BINDING,
    CLUSTER,
    CLUSTER_CLASS,
    MOVE,
    MOVE_HIERARCHY,
    SECRET,
    MovedKind,
    MovedKinds,
)
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind, split_api_version
from kapy.remote.secrets import InvalidSecretName, parse_secret_name


class Ref(NamedTuple):
    """An object by its group, kind, namespace and name, which are the same in every cluster."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@dataclass(eq=False)
class Node:
    """An object, or an owner that was referenced but not found (kind and document are None).

    owners: each with its owner reference. roots: the objects with which it is moved. below_global:
    it is below a cluster-scoped object. stays: it also stays in the source.
    """

    ref: Ref
    uid: str
    kind: MovedKind | None = None
    document: Document | None = None
    owners: dict[Node, Document] = field(default_factory=dict)
    soft_owners: list[Node] = field(default_factory=list)
    dependents: list[Node] = field(default_factory=list)
    soft_dependents: list[Node] = field(default_factory=list)
    roots: set[Node] = field(default_factory=set)
    below_global: bool = False
    stays: bool = False

    @property
    def is_global(self) -> bool:
        return self.kind is not None and not self.kind.resource.namespaced

    @property
    def moves(self) -> bool:
        """Return whether the rules select the object for the move."""
        return (
            bool(self.roots) or self._has_label(MOVE) or (self.kind is not None and self.kind.moves)
        )

    @property
    def hierarchy(self) -> bool:
        """Return whether the object is moved together with everything below it."""
        return self._has_label(MOVE_HIERARCHY) or (self.kind is not None and self.kind.hierarchy)

    def _has_label(self, label: str) -> bool:
        return self.document is not None and label in (
            self.document["metadata"].get("labels") or {}
        )


class Graph:
    """The nodes by UID. kinds: the kinds that a move considers."""

    def __init__(self, kinds: MovedKinds) -> None:
        self.kinds = kinds
        self.nodes: dict[str, Node] = {}

    def add(self, document: Document, kind: MovedKind | None = None) -> None:
        """Add an object that was found; its owners are placeholders until they are found, too.

        kind: required for a kind that moves do not consider by default.
        """
        ref = ref_of(document)
        uid = document["metadata"].get("uid") or str(ref)
        node = self.nodes.setdefault(uid, Node(ref, uid))
        if node.document is not None:
            return
        node.ref, node.document = ref, document
        node.kind = kind or self.kinds.get(ref.group_kind)
        for reference in document["metadata"].get("ownerReferences") or ():
            owner = self._owner(reference)
            if node not in owner.dependents:
                owner.dependents.append(node)
            node.owners[owner] = reference

    def complete(self) -> None:
        """Call this after all objects were added: it links owners by name and finds the objects
        that move together."""
        clusters = {node.ref.key: node for node in self.of(CLUSTER)}
        classes = {node.ref.key: node for node in self.of(CLUSTER_CLASS)}
        for node in self.of(SECRET):
            if not node.owners:
                _add_soft_owner(node, clusters.get(_cluster_of_secret(node)))
        for node in self.of(BINDING):
            _add_soft_owner(
                node, clusters.get(Key(node.ref.namespace, _spec(node).get("clusterName", "")))
            )
        for node in clusters.values():
            _add_soft_owner(node, classes.get(class_of(node.document)) if node.document else None)
        for node in list(self.nodes.values()):
            if node.hierarchy:
                _spread_cluster(node)

    def of(self, group_kind: GroupKind) -> Iterator[Node]:
        """Return the nodes of the found objects of a kind."""
        return (node for node in self.existing_nodes() if node.ref.group_kind == group_kind)

    def existing_nodes(self) -> Iterator[Node]:
        """Return the nodes of all found objects."""
        return (node for node in self.nodes.values() if node.document is not None)

    def keep(self, node: Node) -> None:
        """Mark this object and the objects below it to stay in the source, because others need
        them."""
        waiting = [node]
        while waiting:
            value = waiting.pop()
            if not value.stays:
                value.stays = True
                waiting += value.dependents

    def _owner(self, reference: Document) -> Node:
        group, _ = split_api_version(reference["apiVersion"])
        ref = Ref(group, reference["kind"], "", reference["name"])
        return self.nodes.setdefault(reference["uid"], Node(ref, reference["uid"]))


def ref_of(document: Document) -> Ref:
    """Return the reference of an object."""
    group, _ = split_api_version(document["apiVersion"])
    key = Key.of(document)
    return Ref(group, document["kind"], key.namespace, key.name)


def class_of(cluster: Document) -> Key:
    """Return the reference of a Cluster's ClusterClass; its name is empty if the Cluster has
    none.
    """
    reference = ((cluster.get("spec") or {}).get("topology") or {}).get("classRef") or {}
    namespace = reference.get("namespace") or cluster["metadata"].get("namespace", "")
    return Key(namespace, reference.get("name", ""))


def sequence(nodes: Iterable[Node]) -> list[list[Node]]:
    """Nodes in groups, owners before dependents.

    A node whose owner is not among them is left out, and so are its dependents.
    """
    waiting: defaultdict[Node, int] = defaultdict(int)
    chosen = list(nodes)
    for node in chosen:
        waiting[node] = len(node.owners) + len(node.soft_owners)
    groups: list[list[Node]] = []
    group = [node for node in chosen if not waiting[node]]
    while group:
        groups.append(sorted(group, key=lambda value: value.ref))
        following: list[Node] = []
        for node in group:
            for other in (*node.dependents, *node.soft_dependents):
                if other in waiting:
                    waiting[other] -= 1
                    if not waiting[other]:
                        following.append(other)
        group = following
    return groups


def _add_soft_owner(node: Node, owner: Node | None) -> None:
    if owner is not None:
        node.soft_owners.append(owner)
        owner.soft_dependents.append(node)


def _spread_cluster(root: Node) -> None:
    """Mark everything below a root to be moved with it; the owner graph may have cycles."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if root not in node.roots:
            node.roots.add(root)
            node.below_global = node.below_global or root.is_global
            waiting += node.dependents
            waiting += node.soft_dependents


def _cluster_of_secret(secret: Node) -> Key:
    try:
        cluster, _ = parse_secret_name(secret.ref.name)
    except InvalidSecretName:
        cluster = ""
    return Key(secret.ref.namespace, cluster)


def _spec(node: Node) -> dict[str, Any]:
    return (node.document or {}).get("spec") or {}
