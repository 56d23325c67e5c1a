"""The plan of a move: what happens to each object, in which order, and what stays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kapy.clusterctl.move.content import compared_content, movable_content
from kapy.clusterctl.move.graph import Graph, Node, Ref, sequence
from kapy.clusterctl.move.kinds import MOVE, MOVE_HIERARCHY
from kapy.kube import Document
from kapy.kube.names import Resource


class Treatment(Enum):
    """The treatment of an object by a move.

    MOVED: created or updated in the target, removed from the source. COPIED: the same, but it stays
    in the source, because clusters of other namespaces need it there. SHARED: cluster-scoped, or
    below a cluster-scoped object: created in the target if absent, never updated, never removed.
    """

    MOVED = "moved"
    COPIED = "copied"
    SHARED = "shared"


@dataclass(frozen=True, eq=False)
class PlannedMove:
    """One object of a plan.

    document: its content in the source, without status. owners: its owner references, with the
    names of the owners. group: its position in the order.
    """

    ref: Ref
    resource: Resource
    way: Treatment
    group: int
    document: Document
    owners: tuple[tuple[Ref, Document], ...] = ()

    @property
    def uid(self) -> str:
        """The UID of the object in the source."""
        return str(self.document["metadata"].get("uid", ""))


@dataclass(frozen=True)
class LeftBehind:
    """An object that is not moved, and the reason. belongs: the rules would move it."""

    ref: Ref
    why: str
    belongs: bool = False


class Plan:
    """The objects of a move, owners first."""

    def __init__(self, objects: Iterable[PlannedMove]) -> None:
        self.objects = {
            planned.ref: planned for planned in sorted(objects, key=lambda planned: planned.group)
        }

    def groups(self) -> list[list[PlannedMove]]:
        """Groups of objects that can be written concurrently, in order."""
        groups: dict[int, list[PlannedMove]] = {}
        for planned in self.objects.values():
            groups.setdefault(planned.group, []).append(planned)
        return list(groups.values())

    def of(self, treatment: Treatment) -> list[PlannedMove]:
        """Return all objects with this way."""
        return [planned for planned in self.objects.values() if planned.way is treatment]

    def changed_since(self, other: Plan) -> list[Ref]:
        """Return the objects that were added, removed or changed since an earlier plan."""
        before, after = other.objects, self.objects
        return sorted(
            ref
            for ref in {*before, *after}
            if ref not in before or ref not in after or not _is_same(before[ref], after[ref])
        )


def plan_move(graph: Graph, *, only: Callable[[Node], bool] | None = None) -> Plan:
    """Return the plan of a graph. only: a predicate of nodes; None selects all that the rules
    move.
    """
    chosen = [
        node for node in graph.existing_nodes() if node.moves and (only is None or only(node))
    ]
    return Plan(
        _planned_move(node, number)
        for number, group in enumerate(sequence(chosen))
        for node in group
    )


def left_behind(graph: Graph, plan: Plan) -> list[LeftBehind]:
    """Return the objects of the graph that are not in the plan, sorted by name."""
    nodes = [node for node in graph.nodes.values() if node.ref not in plan.objects]
    return sorted(
        (LeftBehind(node.ref, _reason_to_stay(node, plan), node.moves) for node in nodes),
        key=lambda remaining: remaining.ref,
    )


_UNKNOWN: Final = "of no kind whose CRD clusterctl has labelled, or gone"


def _reason_to_stay(node: Node, plan: Plan) -> str:
    if node.document is None:
        return f"it was named as an owner, and is {_UNKNOWN}"
    for owner in (*node.owners, *node.soft_owners):
        if owner.ref not in plan.objects:
            state = "is not moved" if owner.document is not None else f"is {_UNKNOWN}"
            return f"its owner {owner.ref} {state}"
    if node.moves:
        return "its owners are owned by each other, in a circle"
    return (
        "it does not belong to a Cluster, a ClusterClass, a ClusterResourceSet or an object "
        f"labelled {MOVE_HIERARCHY}, and has no label {MOVE}"
    )


def _planned_move(node: Node, group: int) -> PlannedMove:
    assert node.kind is not None
    assert node.document is not None
    return PlannedMove(
        node.ref,
        node.kind.resource,
        _treatment(node),
        group,
        movable_content(node.document, status=node.kind.status),
        tuple((owner.ref, _reference(owner, result)) for owner, result in node.owners.items()),
    )


def _treatment(node: Node) -> Treatment:
    if node.is_global or node.below_global:
        return Treatment.SHARED
    return Treatment.COPIED if node.stays else Treatment.MOVED


def _reference(owner: Node, document: Document) -> Document:
    """Return the owner reference, in the version in which the owner is moved."""
    if owner.document is None:
        return document
    return {**document, "apiVersion": owner.document["apiVersion"]}


def _is_same(left: PlannedMove, right: PlannedMove) -> bool:
    return left.way is right.way and compared_content(left.document) == compared_content(
        right.document
    )
