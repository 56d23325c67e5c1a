"""The plan of a move: what happens to each object, in which order, and what stays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kapy.clusterctl.move.content import essence, movable
from kapy.clusterctl.move.graph import Graph, Node, Ref, sequence
from kapy.clusterctl.move.kinds import MOVE, MOVE_HIERARCHY
from kapy.kube import Document
from kapy.kube.names import Resource


class Way(Enum):
    """What happens to an object.

    MOVED: created or updated in the target, removed from the source. COPIED: the same, but it stays
    in the source, because clusters of other namespaces need it there. SHARED: cluster-scoped, or
    below a cluster-scoped object: created in the target if absent, never updated, never removed.
    """

    MOVED = "moved"
    COPIED = "copied"
    SHARED = "shared"


@dataclass(frozen=True, eq=False)
class Planned:
    """One object of a plan.

    document: its content in the source, without status. owners: its owner references, with the
    names of the owners. group: its position in the order.
    """

    ref: Ref
    resource: Resource
    way: Way
    group: int
    document: Document
    owners: tuple[tuple[Ref, Document], ...] = ()

    @property
    def uid(self) -> str:
        """Its uid in the source."""
        return str(self.document["metadata"].get("uid", ""))


@dataclass(frozen=True)
class LeftBehind:
    """An object that is not moved, and the reason. belongs: the rules would move it."""

    ref: Ref
    why: str
    belongs: bool = False


class Plan:
    """The objects of a move, owners first."""

    def __init__(self, objects: Iterable[Planned]) -> None:
        self.objects = {one.ref: one for one in sorted(objects, key=lambda one: one.group)}

    def groups(self) -> list[list[Planned]]:
        """Groups of objects that can be written concurrently, in order."""
        groups: dict[int, list[Planned]] = {}
        for one in self.objects.values():
            groups.setdefault(one.group, []).append(one)
        return list(groups.values())

    def of(self, way: Way) -> list[Planned]:
        """All objects with this way."""
        return [one for one in self.objects.values() if one.way is way]

    def changed_since(self, other: Plan) -> list[Ref]:
        """The objects that were added, removed or changed since an earlier plan."""
        before, after = other.objects, self.objects
        return sorted(
            ref
            for ref in {*before, *after}
            if ref not in before or ref not in after or not _same(before[ref], after[ref])
        )


def planned(graph: Graph, *, only: Callable[[Node], bool] | None = None) -> Plan:
    """The plan of a graph. only: a predicate of nodes; None selects all that the rules move."""
    chosen = [one for one in graph.found() if one.moves and (only is None or only(one))]
    return Plan(
        _planned(node, number) for number, group in enumerate(sequence(chosen)) for node in group
    )


def left_behind(graph: Graph, plan: Plan) -> list[LeftBehind]:
    """The objects of the graph that are not in the plan, sorted by name."""
    left = [node for node in graph.nodes.values() if node.ref not in plan.objects]
    return sorted(
        (LeftBehind(node.ref, _why(node, plan), node.moves) for node in left),
        key=lambda one: one.ref,
    )


_UNKNOWN: Final = "of no kind whose CRD clusterctl has labelled, or gone"


def _why(node: Node, plan: Plan) -> str:
    if node.document is None:
        return f"it was named as an owner, and is {_UNKNOWN}"
    for owner in (*node.owners, *node.soft_owners):
        if owner.ref not in plan.objects:
            known = "is not moved" if owner.document is not None else f"is {_UNKNOWN}"
            return f"its owner {owner.ref} {known}"
    if node.moves:
        return "its owners are owned by each other, in a circle"
    return (
        "it does not belong to a Cluster, a ClusterClass, a ClusterResourceSet or an object "
        f"labelled {MOVE_HIERARCHY}, and has no label {MOVE}"
    )


def _planned(node: Node, group: int) -> Planned:
    assert node.kind is not None
    assert node.document is not None
    return Planned(
        node.ref,
        node.kind.resource,
        _way(node),
        group,
        movable(node.document, status=node.kind.status),
        tuple((owner.ref, _reference(owner, told)) for owner, told in node.owners.items()),
    )


def _way(node: Node) -> Way:
    if node.is_global or node.below_global:
        return Way.SHARED
    return Way.COPIED if node.kept else Way.MOVED


def _reference(owner: Node, told: Document) -> Document:
    """The owner reference, in the version in which the owner is moved."""
    if owner.document is None:
        return told
    return {**told, "apiVersion": owner.document["apiVersion"]}


def _same(one: Planned, other: Planned) -> bool:
    return one.way is other.way and essence(one.document) == essence(other.document)
