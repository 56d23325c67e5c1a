"""The recorded figure, and how a new count compares with it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

FILE: Final = Path(__file__).with_name("figure.json")
SAME_BUILD: Final = 0.03
OTHER_BUILD: Final = 0.15
"""The ratio to the reference differs between builds of Python, since compilers optimize both
workloads differently."""

HINT: Final = "if that is meant: make instructions ARGS=--record, and say why in the commit"


class Figure(msgspec.Struct, frozen=True, rename="camel"):
    """Instructions of one round of the story, and of the reference workload."""

    python_build: str
    story: int
    reference: int

    @property
    def ratio(self) -> float:
        """The story's cost in rounds of the reference workload."""
        return self.story / self.reference


def recorded() -> Figure:
    """Read the recorded figure."""
    return msgspec.json.decode(FILE.read_bytes(), type=Figure)


def record(figure: Figure) -> None:
    """Write the figure that later counts are compared with."""
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(figure), indent=2) + b"\n")


def increase(before: Figure, now: Figure) -> float:
    """Return the share by which the story costs more. With another Python, compare the ratios."""
    if before.python_build == now.python_build:
        return now.story / before.story - 1
    return now.ratio / before.ratio - 1


def accepted_increase(before: Figure, now: Figure) -> float:
    """Return the increase up to which a count passes."""
    return SAME_BUILD if before.python_build == now.python_build else OTHER_BUILD


def report(before: Figure, now: Figure) -> str:
    """Describe the comparison in a sentence."""
    limit = accepted_increase(before, now)
    counts = f"{now.story:,} instructions, {now.ratio:.1f} rounds of the reference workload"
    build = "" if before.python_build == now.python_build else ", measured with another Python"
    return (
        f"{counts}: {increase(before, now):+.2%} of the recorded {before.story:,}{build}"
        f" (limit {limit:+.0%})"
    )
