"""Tables in upstream's format (Go's tabwriter: columns at least 10 wide, 3 apart, the last
unpadded)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_LEAST_WIDTH: Final = 10
_GAP: Final = 3


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return the lines of a table, including the header."""
    last = len(rows[0]) - 1
    widths = [max(_LEAST_WIDTH, *(len(row[at]) + _GAP for row in rows)) for at in range(last)]
    lines = (
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + row[last]
        for row in rows
    )
    return "\n".join(lines) + "\n"
