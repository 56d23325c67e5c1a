"""The tree as a graph for Graphviz: `kapy describe cluster NAME -o dot | dot -Tsvg`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from kapy.clusterctl.describe.row import Mood, row_of, title_of
from kapy.clusterctl.describe.tree import Node

_FILL: Final[Mapping[Mood, str]] = {
    "good": "palegreen",
    "bad": "lightpink",
    "unknown": "khaki",
    "plain": "white",
}


def dot(root: Node, *, now: datetime) -> str:
    """Return a digraph from the Cluster to its objects, coloured by their state."""
    numbers = {id(node): number for number, node in enumerate(root.walk())}
    lines = ["digraph cluster {", "  rankdir=LR;", "  node [shape=box, style=filled];"]
    for node in root.walk():
        fill = _FILL[row_of(node, now).mood]
        label = _quote("\n".join(_label(node, now)))
        lines.append(f"  n{numbers[id(node)]} [label={label}, fillcolor={fill}];")
        for child in node.children:
            lines.append(f"  n{numbers[id(node)]} -> n{numbers[id(child)]};")
    return "\n".join([*lines, "}"]) + "\n"


def _label(node: Node, now: datetime) -> Iterator[str]:
    kind, name, version = title_of(node)
    yield " ".join(part for part in (kind, version) if part)
    if name:
        yield name
    row = row_of(node, now)
    if row.reason:
        yield " ".join(part for part in (row.reason, row.since) if part)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
