"""The tree of objects, and how machines in the same state become one group."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from kapy.kube import Document

Shown = Literal["none", "all", "telling"]
"""The conditions of an object that get their own rows; "telling": those that need attention."""

NEGATIVE = frozenset(
    ("Paused", "Deleting", "RollingOut", "ScalingUp", "ScalingDown", "Updating", "Remediating")
)
"""Conditions whose normal state is False."""


@dataclass(eq=False)
class Group:
    """Several machines of one state, shown as one row."""

    items: list[str]
    available: int = 0
    ready: int = 0
    up_to_date: int = 0

    def add(self, document: Document) -> None:
        """Add a machine to the group."""
        insort(self.items, document["metadata"]["name"])
        self.count(document)

    def count(self, document: Document) -> None:
        """Count a machine of the group."""
        self.available += _is_true(document, "Available")
        self.ready += _is_true(document, "Ready")
        self.up_to_date += _is_true(document, "UpToDate")


@dataclass(eq=False)
class Node:
    """The object of one row: a document, or a heading (`document` is None) such as "Workers".

    title: the text of a heading. role: its role for the parent ("ClusterInfrastructure"). groups:
    children in the same state are grouped in one row. order: siblings with a higher value come
    first. ready, state: the condition that a group shows, and the state that its members share.
    """

    kind: str
    document: Document | None = None
    title: str = ""
    role: str = ""
    shown: Shown = "none"
    order: int = 0
    groups: bool = False
    is_control_plane: bool = False
    group: Group | None = None
    ready: Document | None = None
    state: tuple[tuple[str, str] | None, ...] = ()
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        """`namespace/name` of an object, the text of a heading."""
        if self.document is None:
            return self.title
        metadata = self.document["metadata"]
        namespace = metadata.get("namespace", "")
        return f"{namespace}/{metadata['name']}" if namespace else metadata["name"]

    def append(self, child: Node) -> Node:
        """Add a child; returns the node in the tree: the child, or the group that absorbed it."""
        if self.groups and child.document is not None:
            twin = self._twin(child)
            if twin is not None:
                return self._join(twin, child.document)
        child.parent = self
        self.children.append(child)
        return child

    def walk(self) -> Iterator[Node]:
        """This node and all below it, from top to bottom."""
        yield self
        for child in self.children:
            yield from child.walk()

    def _twin(self, child: Node) -> Node | None:
        for other in self.children:
            if other.kind == child.kind and _state(other) == _state(child):
                return other
        return None

    def _join(self, twin: Node, document: Document) -> Node:
        ready = condition(document, "Ready")
        if twin.group is not None:
            twin.group.add(document)
            twin.ready = _earliest(twin.ready, ready)
            return twin
        assert twin.document is not None
        group = Group([twin.document["metadata"]["name"]])
        group.count(twin.document)
        group.add(document)
        both = _earliest(ready, condition(twin.document, "Ready"))
        joined = Node(twin.kind, group=group, ready=both, state=_state(twin), parent=self)
        self.children[self.children.index(twin)] = joined
        return joined


def condition(document: Document, of: str) -> Document | None:
    """Return a condition of an object, or None.

    `status.v1beta2.conditions` comes first: providers of the v1beta1 contract keep the new
    conditions there.
    """
    return next((item for item in conditions(document) if item.get("type") == of), None)


def conditions(document: Document) -> list[Document]:
    """Return all conditions of an object in the form of v1beta2 (those of v1beta1 have a
    severity).
    """
    status = document.get("status") or {}
    newer = (status.get("v1beta2") or {}).get("conditions")
    result = newer if newer is not None else status.get("conditions") or []
    return [item for item in result if isinstance(item, dict) and "severity" not in item]


def _state(node: Node) -> tuple[tuple[str, str] | None, ...]:
    if node.document is None:
        return node.state
    result = (condition(node.document, of) for of in ("Available", "Ready", "UpToDate"))
    return tuple(
        None if item is None else (item.get("status", ""), item.get("reason", ""))
        for item in result
    )


def _is_true(document: Document, of: str) -> bool:
    result = condition(document, of)
    return result is not None and result.get("status") == "True"


def _earliest(left: Document | None, right: Document | None) -> Document | None:
    if left is None or right is None:
        return left or right
    since = min(left.get("lastTransitionTime") or "", right.get("lastTransitionTime") or "")
    return {**left, "lastTransitionTime": since, "message": ""}
