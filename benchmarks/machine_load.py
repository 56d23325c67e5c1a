"""The share of the machine that work other than the benchmark's took."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

QUIET_PERCENT: Final = 10.0
"""Other work may take this share of all cores while a machine counts as quiet."""
_STAT: Final = Path("/proc/stat")
_IDLE: Final = (3, 4)
"""Columns of /proc/stat in which no core works: idle, and waiting for a disk."""


@dataclass
class OtherWork:
    """Other work during a run. percent: of all cores; None where the system does not tell."""

    percent: float | None = None
    load: float = 0.0


@contextmanager
def measure_other_work() -> Iterator[OtherWork]:
    """Measure the other work of the machine while processes of ours run in the block."""
    result = OtherWork()
    began, busy, own = time.monotonic(), _busy_seconds(), _own_seconds()
    try:
        yield result
    finally:
        wall = time.monotonic() - began
        result.load = round(os.getloadavg()[0], 1)
        after = _busy_seconds()
        if busy is not None and after is not None and wall > 0:
            other = (after - busy) - (_own_seconds() - own)
            share = 100 * other / (wall * (os.cpu_count() or 1))
            result.percent = round(max(share, 0.0), 1)


def _busy_seconds() -> float | None:
    """Return the time that all cores worked since the start of the system."""
    if not _STAT.exists():
        return None
    ticks = [int(word) for word in _STAT.read_text().splitlines()[0].split()[1:9]]
    busy = sum(ticks) - sum(ticks[column] for column in _IDLE)
    return busy / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
