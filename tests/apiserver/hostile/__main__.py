"""Send the corpus of hostile requests to a plane, and tell how long its other users wait.

    python -m tests.apiserver.hostile [--only TEXT] [--size BYTES]... [--show MILLISECONDS]

A plane (`kapy up`, on disk) runs in a process of its own. While each request is answered, another
process asks for `/livez`, and reads and patches a small object as another user, over one
connection with TLS. Compare with what is told of the time when nothing hostile was sent.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.apiserver.hostile.corpus import CASES
from tests.apiserver.hostile.plane import HOSTILE, Plane, running
from tests.apiserver.hostile.probing import Prober, probing

SIZES = (1_450_000, 2_950_000)
"""Bytes: as much as can be stored, and as much as can be sent."""

LIMIT = 250
"""Milliseconds: nobody should have to wait longer."""

IDLE_SECONDS = 15.0
SETTLE_SECONDS = 0.05


class Seen(NamedTuple):
    """One request, and what others saw of it."""

    name: str
    method: str
    size: int
    status: int
    seconds: float
    cpu: float
    livez: float
    get: float
    patch: float
    peak: int
    held: float

    @property
    def longest(self) -> float:
        return max(self.livez, self.get, self.patch)

    def line(self) -> str:
        return (
            f"{self.name:42} {self.method:6} {self.size:8} {self.status:3} {self.seconds:7.2f}s "
            f"cpu {self.cpu:6.2f}s "
            f"held {self.held:5.0f} livez {self.livez:5.0f} get {self.get:5.0f} "
            f"patch {self.patch:5.0f} ms peak {self.peak} MiB"
        )


def play(plane: Plane, prober: Prober, size: int, only: str, show: float) -> list[Seen]:
    """Send all cases of one size."""
    results: list[Seen] = []
    for case in CASES:
        if not any(part in case.name for part in only.split(",")):
            continue
        for number, call in enumerate(case.calls(size), 1):
            plane.forget_peak()
            prober.longest()
            plane.held.taken()
            began, cpu = time.perf_counter(), plane.cpu()
            status, _ = plane.ask(call, HOSTILE)
            seconds = time.perf_counter() - began
            time.sleep(SETTLE_SECONDS)
            livez, get, patch = prober.longest().values()
            used, peak = plane.cpu() - cpu, plane.memory()["VmHWM"]
            name = f"{case.name} {number}"
            sent = len(call.body)
            held = plane.held.taken() * 1000
            waits = livez, get, patch
            results.append(Seen(name, call.method, sent, status, seconds, used, *waits, peak, held))
            if results[-1].held >= show or status in (0, 500):
                _tell(results[-1].line())
    return results


def summary(results: Sequence[Seen]) -> str:
    """The sentences for people."""
    worst = sorted(results, key=lambda entry: entry.held, reverse=True)
    peak = max(entry.peak for entry in results)
    lines = [f"{len(results)} requests; peak memory {peak} MiB"]
    for what, waits in (
        ("wait by the clock", sorted(entry.longest for entry in results)),
        ("time that the event loop was held (CPU)", sorted(entry.held for entry in results)),
    ):
        over = sum(wait > LIMIT for wait in waits)
        lines.append(
            f"the longest {what} {waits[-1]:.0f} ms, "
            f"in the middle {waits[len(waits) // 2]:.0f} ms, {over} longer than {LIMIT} ms"
        )
    return "\n".join([*lines, *(entry.line() for entry in worst[:10])])


def _tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def main() -> None:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", help="cases whose names have one of these in them, a,b"
    )
    parser.add_argument("--size", type=int, action="append", help="bytes of a request")
    parser.add_argument("--show", type=float, default=250.0, help="print from this wait on (ms)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as plane:
        with probing(plane) as prober:
            prober.longest()
            plane.held.taken()
            time.sleep(IDLE_SECONDS)
            idle = max(prober.longest().values())
            held = plane.held.taken() * 1000
            _tell(
                f"nothing hostile for {IDLE_SECONDS:.0f} s: the longest wait {idle:.0f} ms, "
                f"held {held:.0f} ms"
            )
            _tell(f"memory {plane.memory()['VmRSS']} MiB")
            results: list[Seen] = []
            for size in options.size or SIZES:
                results += play(plane, prober, size, options.only, options.show)
        _tell(summary(results))


if __name__ == "__main__":
    main()
