"""The tree as text: one line for each object and condition, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kapy.clusterctl.describe.row import Mood, Row, is_telling, row_of, row_of_condition, title_of
from kapy.clusterctl.describe.tree import Node, conditions

HEADER = (
    "NAME",
    "REPLICAS",
    "AVAILABLE",
    "READY",
    "UP TO DATE",
    "STATUS",
    "REASON",
    "SINCE",
    "MESSAGE",
)
BRANCH, LAST, PIPE, BLANK = "├─", "└─", "│ ", "  "
FILLER: Final = " " * 10

_RESET = "\x1b[0m"
_COLORS: dict[Mood, str] = {
    "good": "\x1b[32m",
    "bad": "\x1b[31m",
    "unknown": "\x1b[33m",
    "plain": "",
}
_GRAY, _BOLD, _CYAN, _RED = "\x1b[90m", "\x1b[1m", "\x1b[36m", "\x1b[31m"
_GROUP = "\x1b[37;1m"

Cell = tuple[str, str]
"""A cell's text, and how it is printed when colours are on (of the same width)."""


def table(root: Node, *, now: datetime, color: bool = False) -> str:
    """The whole tree; lines are padded to the width of the table, as upstream's are."""
    rows = [[(cell, cell) for cell in HEADER], *_rows(root, "", root, now)]
    padding = [1] + [2] * (len(rows) - 1)
    widths = [
        max(len(row[column][0]) + pad for row, pad in zip(rows, padding, strict=True))
        for column in range(len(HEADER))
    ]
    lines = (_line(row, widths, color=color) for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _line(row: Sequence[Cell], widths: Sequence[int], *, color: bool) -> str:
    return "".join(
        (colored if color else text) + " " * (width - len(text))
        for (text, colored), width in zip(row, widths, strict=True)
    )


def _rows(node: Node, prefix: str, root: Node, now: datetime) -> Iterator[list[Cell]]:
    row = row_of(node, now)
    plain, colored = _title(node)
    yield _cells((prefix + plain, _paint(_GRAY, prefix) + colored), row, gray=bool(node.group))
    children = _ordered(node.children)
    if len(row.message) > 1:
        below = _beside(node, root)
        for line in row.message[1:]:
            yield _cells((below, _paint(_GRAY, below)), Row(message=(line,)))
    yield from _condition_rows(node, prefix, now)
    for number, child in enumerate(children):
        yield from _rows(child, _below(prefix, last=number == len(children) - 1), root, now)


def _condition_rows(node: Node, prefix: str, now: datetime) -> Iterator[list[Cell]]:
    if node.shown == "none" or node.document is None:
        return
    found = [one for one in conditions(node.document) if node.shown == "all" or is_telling(one)]
    above = prefix + (PIPE if node.children else BLANK) + FILLER
    for number, one in enumerate(found):
        start = _below(above, last=number == len(found) - 1)
        row = row_of_condition(one, now)
        title = (start + one["type"], _paint(_GRAY, start) + _paint(_CYAN, one["type"]))
        yield _cells(title, row)
        rest = start.removesuffix(LAST) if start.endswith(LAST) else start[: -len(BRANCH)] + PIPE
        for line in row.message[1:]:
            yield _cells((rest, _paint(_GRAY, rest)), Row(message=(line,)))


def _cells(title: Cell, row: Row, *, gray: bool = False) -> list[Cell]:
    message = row.message[0]
    return [
        title,
        *((text, text) for text in row.counters),
        (row.status, _paint(_COLORS[row.mood], row.status)),
        (row.reason, row.reason),
        (row.since, row.since),
        (message, _paint(_GRAY, message) if gray else message),
    ]


def _title(node: Node) -> Cell:
    kind, name, version = title_of(node)
    if not name:
        return kind, _paint(_GROUP, kind) if node.group is not None else kind
    rest = f", {version}" if version else ""
    plain, colored = f"{kind} {name}{rest}", f"{kind} {_paint(_BOLD, name)}{rest}"
    if node.document is not None and node.document["metadata"].get("deletionTimestamp"):
        mark = "!! DELETED !!"
        return f"{mark} {plain}", f"{_paint(_RED, mark)} {colored}"
    return plain, colored


def _paint(color: str, text: str) -> str:
    return f"{color}{text}{_RESET}" if color and text else text


def _ordered(children: Sequence[Node]) -> list[Node]:
    return sorted(children, key=lambda node: (-node.order, _title(node)[0]))


def _below(prefix: str, *, last: bool) -> str:
    """The prefix of a child of a row with this prefix."""
    return prefix.replace(BRANCH, PIPE).replace(LAST, BLANK) + (LAST if last else BRANCH)


def _beside(node: Node, root: Node) -> str:
    """The prefix of further lines of an object's message: the lines of the tree go on there."""
    if node is _last(root):
        return ""
    prefix = PIPE if node.children else ""
    while node.parent is not None:
        is_last = _ordered(node.parent.children)[-1] is node
        prefix = (BLANK if is_last else PIPE) + prefix
        node = node.parent
    return prefix


def _last(node: Node) -> Node:
    while node.children:
        node = _ordered(node.children)[-1]
    return node
