"""The context of one run of the behaviour checks: options, progress reports and leftovers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kapy.testing.conformance.findings import Leftover


def discard_progress(line: str) -> None:
    """Discard a progress line: for runs in tests."""
    del line


@dataclass
class RunContext:
    """The context of one run.

    parallel: the most concurrent checks, 0 for no limit. report_progress: gets a line at each step.
    leftovers: the kit's objects that could not be deleted.
    """

    parallel: int = 0
    report_progress: Callable[[str], None] = discard_progress
    leftovers: list[Leftover] = field(default_factory=list)

    def rounds(self, runs: int) -> int:
        """Return by which factor the time limit grows when this many checks run with limited
        concurrency.
        """
        return max(1, -(-runs // self.parallel)) if self.parallel else 1
