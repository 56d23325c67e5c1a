"""The tree as text: one line for each object and condition, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from kapy.clusterctl.describe.row import (
    Mood,
    Row,
    is_informative,
    row_of,
    row_of_condition,
    title_of,
    wrap_text,
)
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
SHORT_HEADER: Final = ("NAME", "REPL", "AVAIL", "READY", "NEW", *HEADER[5:])
"""Headers for narrow terminals: NEW counts the up-to-date machines."""

MIN_MESSAGE_WIDTH: Final = 48
"""The minimum width of the message column; with less, messages are printed below their row."""

SHORTEST: Final = 24
"""The minimum width of the name column."""

OMITTED_COLUMNS: Final = tuple(
    HEADER.index(item)
    for item in ("SINCE", "UP TO DATE", "READY", "AVAILABLE", "REPLICAS", "REASON", "STATUS")
)
"""Columns that are omitted on very narrow terminals, in this order."""

BRANCH, LAST, PIPE, BLANK = "├─", "└─", "│ ", "  "
FILLER: Final = " " * 10
CUT_MARK: Final = "…"

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


@dataclass(frozen=True, slots=True)
class Line:
    """An object or a condition in the tree.

    title: its first cell. below: the tree branches to draw beside its continuation lines.
    """

    title: Cell
    below: Cell
    row: Row
    gray: bool = False

    def cells(self) -> list[Cell]:
        """Return the cells of all columns except the message."""
        row = self.row
        return [
            self.title,
            *((text, text) for text in row.counters),
            (row.status, _paint(_COLORS[row.mood], row.status)),
            (row.reason, row.reason),
            (row.since, row.since),
        ]


def table(root: Node, *, now: datetime, color: bool = False, width: int | None = None) -> str:
    """Return the whole tree as text.

    width: the columns of the terminal. By default lines have any length and are padded to the same
    length, as in upstream.
    """
    lines = list(_lines(root, "", root, now))
    if width is None:
        return _upstream_table(lines, color=color)
    printed = _fit_width(lines, width, color=color)
    if CUT_MARK not in printed:
        return printed
    return _fit_width(_without_namespace(lines, root), width, color=color)


def _upstream_table(lines: Sequence[Line], *, color: bool) -> str:
    rows = [[(cell, cell) for cell in HEADER], *(row for line in lines for row in _rows(line))]
    padding = [1] + [2] * (len(rows) - 1)
    widths = [
        max(len(row[column][0]) + pad for row, pad in zip(rows, padding, strict=True))
        for column in range(len(HEADER))
    ]
    return "".join(f"{_join_row(row, widths, color=color)}\n" for row in rows)


def _rows(line: Line) -> Iterator[list[Cell]]:
    first, *rest = line.row.message
    yield [*line.cells(), (first, _paint(_GRAY, first) if line.gray else first)]
    for text in rest:
        yield [line.below, *[("", "")] * (len(HEADER) - 2), (text, text)]


def _fit_width(lines: Sequence[Line], width: int, *, color: bool) -> str:
    """Return the tree within `width` columns.

    Empty columns are omitted. Messages are wrapped beside the other columns, or below the row if
    they would get too little room. If the tree is still too wide, names are cut, then columns are
    omitted.
    """
    cells = [line.cells() for line in lines]
    full = [
        0,
        *(at for at in range(1, len(HEADER) - 1) if any(row[at][0] for row in cells)),
    ]
    narrower = [
        [item for item in full if item not in OMITTED_COLUMNS[:hidden]] for hidden in range(1, 8)
    ]
    for header, used in (
        (HEADER, full),
        (SHORT_HEADER, full),
        *((SHORT_HEADER, item) for item in narrower),
    ):
        rows = [[(header[at], header[at]) for at in used]]
        rows += [[row[at] for at in used] for row in cells]
        widths = [max(len(row[at][0]) for row in rows) + 2 for at in range(len(used))]
        room = width - sum(widths)
        least = SHORTEST + sum(widths[1:]) - 2  # the last column has no separator
        if room >= MIN_MESSAGE_WIDTH or (header is SHORT_HEADER and least <= width):
            break
    over = max(0, sum(widths) - width) if room < MIN_MESSAGE_WIDTH else 0
    widths[0] = max(SHORTEST, widths[0] - over)
    room = room if room >= MIN_MESSAGE_WIDTH else 0
    has_messages = room > 0 and any(line.row.text for line in lines)
    printed = [_join_row(rows[0], widths, color=color) + (HEADER[-1] if has_messages else "")]
    for line, row in zip(lines, rows[1:], strict=True):
        printed += _beside_or_below(line, _join_row(row, widths, color=color), sum(widths), width)
    return "".join(f"{item.rstrip()}\n" for item in printed)


def _without_namespace(lines: Sequence[Line], root: Node) -> list[Line]:
    """Return the lines, with the cluster's namespace removed from names."""
    namespace = f"{root.name.partition('/')[0]}/"

    def shorter(text: str) -> str:
        return text.replace(namespace, "", 1)

    return [replace(line, title=(shorter(line.title[0]), shorter(line.title[1]))) for line in lines]


def _beside_or_below(line: Line, first: str, column: int, width: int) -> list[str]:
    """Return the lines of one row. column: the width of all columns except the message."""
    below = line.below[0]
    if width - column >= MIN_MESSAGE_WIDTH:
        texts = wrap_text(line.row.text, width - column)
        return [first + texts[0], *(f"{below:<{column}}{text}" for text in texts[1:])]
    if not line.row.text:
        return [first]
    indent = len(line.title[0]) - len(line.title[0].lstrip(BRANCH + LAST + PIPE))
    start = f"{below or ' ' * indent}    "
    return [first, *(start + text for text in wrap_text(line.row.text, width - len(start)))]


def _join_row(row: Sequence[Cell], widths: Sequence[int], *, color: bool) -> str:
    return "".join(
        (colored if color and len(text) < width else _cut(text, width)) + " " * (width - len(text))
        for (text, colored), width in zip(row, widths, strict=True)
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) < width else f"{text[: width - 2]}{CUT_MARK} "


def _lines(node: Node, prefix: str, root: Node, now: datetime) -> Iterator[Line]:
    plain, colored = _title(node)
    title = (prefix + plain, _paint(_GRAY, prefix) + colored)
    below = _beside(node, root)
    yield Line(title, (below, _paint(_GRAY, below)), row_of(node, now), gray=bool(node.group))
    yield from _condition_lines(node, prefix, now)
    children = _sort_children(node.children)
    for number, child in enumerate(children):
        yield from _lines(child, _below(prefix, last=number == len(children) - 1), root, now)


def _condition_lines(node: Node, prefix: str, now: datetime) -> Iterator[Line]:
    if node.shown == "none" or node.document is None:
        return
    result = [
        condition
        for condition in conditions(node.document)
        if node.shown == "all" or is_informative(condition)
    ]
    above = prefix + (PIPE if node.children else BLANK) + FILLER
    for number, item in enumerate(result):
        start = _below(above, last=number == len(result) - 1)
        title = (start + item["type"], _paint(_GRAY, start) + _paint(_CYAN, item["type"]))
        rest = start.removesuffix(LAST) if start.endswith(LAST) else start[: -len(BRANCH)] + PIPE
        yield Line(title, (rest, _paint(_GRAY, rest)), row_of_condition(item, now))


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


def _sort_children(children: Sequence[Node]) -> list[Node]:
    return sorted(children, key=lambda node: (-node.order, _title(node)[0]))


def _below(prefix: str, *, last: bool) -> str:
    """Return the prefix of a child of a row with this prefix."""
    return prefix.replace(BRANCH, PIPE).replace(LAST, BLANK) + (LAST if last else BRANCH)


def _beside(node: Node, root: Node) -> str:
    """Return the prefix of a row's continuation lines, with the lines of the tree continued."""
    if node is _last(root):
        return ""
    prefix = PIPE if node.children else ""
    while node.parent is not None:
        is_last = _sort_children(node.parent.children)[-1] is node
        prefix = (BLANK if is_last else PIPE) + prefix
        node = node.parent
    return prefix


def _last(node: Node) -> Node:
    while node.children:
        node = _sort_children(node.children)[-1]
    return node
