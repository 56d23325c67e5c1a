"""The objects of a management cluster, who owns whom, and which of them are moved. Pure.

The rules are those of the clusterctl contract: an object is moved when it hangs below a Cluster,
a ClusterClass, a ClusterResourceSet or an object labelled `move-hierarchy`, or when it or its CRD
is labelled `move`. It hangs below what its owner references name, and softly (by a name alone)
a Cluster's own certificates below the Cluster, a Cluster below its ClusterClass and a
ClusterResourceSetBinding below its Cluster.
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
    """An object by its names, which are the same in every cluster."""

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
    """An object, or (kind and document are None) an owner that was named and not found.

    owners: with the reference that names each. roots: what it is moved with. below_global: it
    hangs below a cluster-scoped object. kept: it stays in the source, too.
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
    kept: bool = False

    @property
    def is_global(self) -> bool:
        return self.kind is not None and not self.kind.resource.namespaced

    @property
    def moves(self) -> bool:
        """Whether the rules say that it is moved."""
        return (
            bool(self.roots) or self._labelled(MOVE) or (self.kind is not None and self.kind.moves)
        )

    @property
    def hierarchy(self) -> bool:
        """Whether it is moved with everything below it."""
        return self._labelled(MOVE_HIERARCHY) or (self.kind is not None and self.kind.hierarchy)

    def _labelled(self, label: str) -> bool:
        return self.document is not None and label in (
            self.document["metadata"].get("labels") or {}
        )


class Graph:
    """The nodes by uid. kinds: what is considered for a move."""

    def __init__(self, kinds: MovedKinds) -> None:
        self.kinds = kinds
        self.nodes: dict[str, Node] = {}

    def add(self, document: Document, kind: MovedKind | None = None) -> None:
        """An object that was found; its owners are known by name until they are found, too.

        kind: needed where it is not one of those that are considered anyway.
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
        """Everything was added: find soft owners, and what is moved with what."""
        clusters = {node.ref.key: node for node in self.of(CLUSTER)}
        classes = {node.ref.key: node for node in self.of(CLUSTER_CLASS)}
        for node in self.of(SECRET):
            if not node.owners:
                _softly(node, clusters.get(_cluster_of_secret(node)))
        for node in self.of(BINDING):
            _softly(node, clusters.get(Key(node.ref.namespace, _spec(node).get("clusterName", ""))))
        for node in clusters.values():
            _softly(node, classes.get(class_of(node.document)) if node.document else None)
        for node in list(self.nodes.values()):
            if node.hierarchy:
                _spread(node)

    def of(self, group_kind: GroupKind) -> Iterator[Node]:
        """The objects of a kind that were found."""
        return (one for one in self.found() if one.ref.group_kind == group_kind)

    def found(self) -> Iterator[Node]:
        """All objects that were found."""
        return (one for one in self.nodes.values() if one.document is not None)

    def keep(self, node: Node) -> None:
        """This object and what it owns stay in the source, since others need them there."""
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if not one.kept:
                one.kept = True
                waiting += one.dependents

    def _owner(self, reference: Document) -> Node:
        group, _ = split_api_version(reference["apiVersion"])
        ref = Ref(group, reference["kind"], "", reference["name"])
        return self.nodes.setdefault(reference["uid"], Node(ref, reference["uid"]))


def ref_of(document: Document) -> Ref:
    """The names of an object."""
    group, _ = split_api_version(document["apiVersion"])
    key = Key.of(document)
    return Ref(group, document["kind"], key.namespace, key.name)


def class_of(cluster: Document) -> Key:
    """The ClusterClass of a Cluster; without a name where it has none."""
    reference = ((cluster.get("spec") or {}).get("topology") or {}).get("classRef") or {}
    namespace = reference.get("namespace") or cluster["metadata"].get("namespace", "")
    return Key(namespace, reference.get("name", ""))


def sequence(nodes: Iterable[Node]) -> list[list[Node]]:
    """Nodes in groups, each after all of its owners; a node with an owner that is not among
    them is left out, and so is what comes after it."""
    waiting: defaultdict[Node, int] = defaultdict(int)
    chosen = list(nodes)
    for node in chosen:
        waiting[node] = len(node.owners) + len(node.soft_owners)
    groups: list[list[Node]] = []
    group = [node for node in chosen if not waiting[node]]
    while group:
        groups.append(sorted(group, key=lambda one: one.ref))
        following: list[Node] = []
        for node in group:
            for other in (*node.dependents, *node.soft_dependents):
                if other in waiting:
                    waiting[other] -= 1
                    if not waiting[other]:
                        following.append(other)
        group = following
    return groups


def _softly(node: Node, owner: Node | None) -> None:
    if owner is not None:
        node.soft_owners.append(owner)
        owner.soft_dependents.append(node)


def _spread(root: Node) -> None:
    """Everything below a root is moved with it; owners may stand in a circle."""
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
