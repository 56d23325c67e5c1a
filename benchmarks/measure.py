"""The cost of a piece of work in this process: time, CPU, memory, requests."""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

CONFLICT: Final = 409
READS: Final = ("GET", "WATCH")


@dataclass
class Measured:
    """The cost of one piece of work; seconds and bytes. answers: requests by (method, status)."""

    wall: float = 0.0
    cpu: float = 0.0
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    rss_before: int = 0
    rss_after: int = 0

    @property
    def requests(self) -> Counter[str]:
        """Requests by method."""
        verbs: Counter[str] = Counter()
        for (method, _), number in self.answers.items():
            verbs[method] += number
        return verbs

    @property
    def conflicts_percent(self) -> float:
        """The share of writes that others came before."""
        writes = Counter(
            {key: number for key, number in self.answers.items() if key[0] not in READS}
        )
        refused = sum(number for (_, code), number in writes.items() if code == CONFLICT)
        return round(100 * refused / max(writes.total(), 1), 2)

    def as_row(self) -> dict[str, Any]:
        return {
            "wall_s": round(self.wall, 4),
            "cpu_s": round(self.cpu, 4),
            "requests": dict(sorted(self.requests.items())),
            "requests_total": self.answers.total(),
            "refused": {
                f"{method} {code}": number
                for (method, code), number in sorted(self.answers.items())
                if code >= 400
            },
            "conflicts_percent": self.conflicts_percent,
            "rss_mb": round(self.rss_after / 2**20, 1),
            "rss_grown_mb": round((self.rss_after - self.rss_before) / 2**20, 2),
        }


class Costs:
    """Measures pieces of work of one process. counts: requests by (method, status), if any."""

    def __init__(self, *counts: Counter[tuple[str, int]]) -> None:
        self._counts = counts

    @contextmanager
    def of(self) -> Iterator[Measured]:
        """The cost of the block, complete when it is left."""
        measured = Measured(rss_before=resident())
        before = self._answers()
        began, cpu = time.perf_counter(), time.process_time()
        try:
            yield measured
        finally:
            measured.wall = time.perf_counter() - began
            measured.cpu = time.process_time() - cpu
            measured.answers = self._answers() - before
            measured.rss_after = resident()

    def _answers(self) -> Counter[tuple[str, int]]:
        return sum(self._counts, Counter())


def resident() -> int:
    """The memory that this process has now, in bytes (its peak where /proc is not there)."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    return peak()


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank); NaN for none."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
