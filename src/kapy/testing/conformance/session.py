"""One run of the behavioural checks: how it is conducted, who is told of it, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kapy.testing.conformance.findings import Remainder


def tell_nobody(line: str) -> None:
    """The audience of a run in a test."""
    del line


@dataclass
class Session:
    """One run.

    parallel: the most checks at one time, 0 for all of them. tell: gets a line at each step.
    remains: the objects of the kit that could not be removed.
    """

    parallel: int = 0
    tell: Callable[[str], None] = tell_nobody
    remains: list[Remainder] = field(default_factory=list)

    def rounds(self, looks: int) -> int:
        """How many times as long as all checks side by side this many of them may take."""
        return max(1, -(-looks // self.parallel)) if self.parallel else 1
