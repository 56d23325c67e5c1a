"""The owner tree of a cluster as rows of a table, with the states that `describe` shows. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from kapy.clusterctl.describe import Node
from kapy.clusterctl.describe.row import Row, row_of, row_of_condition, title_of
from kapy.clusterctl.describe.tree import conditions
from kapy.kube import Document
from kapy.ui.documents import text_at

DEEPEST: Final = 6
"""Levels of indentation."""


class ConditionRow(NamedTuple):
    """One condition in words. since: RFC 3339."""

    type: str
    since: str
    row: Row


class TreeRow(NamedTuple):
    """One row of the tree of a cluster: an object, group or heading. reference: the reference for a
    link to the object's own page, None without one.
    """

    depth: int
    kind: str
    name: str
    version: str
    row: Row
    is_deleting: bool
    reference: Document | None


def tree_rows(root: Node, now: datetime, depth: int = 0) -> Iterator[TreeRow]:
    """The rows from top to bottom."""
    kind, name, version = title_of(root)
    document = root.document
    is_deleting = bool(document and document["metadata"].get("deletionTimestamp"))
    name, row = name.rpartition("/")[2], row_of(root, now)
    yield TreeRow(min(depth, DEEPEST), kind, name, version, row, is_deleting, document)
    for child in sorted(root.children, key=lambda node: (-node.order, title_of(node))):
        yield from tree_rows(child, now, depth + 1)


def conditions_of(document: Document, now: datetime, only: str = "") -> list[ConditionRow]:
    """Return the conditions of an object, or only those of one type: problems first."""
    rows = [
        ConditionRow(
            text_at(item, "type"), text_at(item, "lastTransitionTime"), row_of_condition(item, now)
        )
        for item in conditions(document)
        if only in ("", item.get("type"))
    ]
    order = {"bad": 0, "unknown": 1}
    return sorted(rows, key=lambda row: (order.get(row.row.mood, 2), row.type))
