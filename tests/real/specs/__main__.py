"""Run upstream's end-to-end specs against planes of kapy.

    python -m tests.real.specs [--jobs N] [--folder FOLDER] [NAME ...]

Without names: every spec that a plane with in-memory machines is enough for. `list` prints all of
them. Each has a plane of its own. The result is one line per spec: passed or not, and its seconds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from tests.real.specs import autoscaler, conformance, containers, old_release, parts
from tests.real.specs.catalogue import SPECS, Spec, runnable
from tests.real.specs.run import Result, runner
from tests.real_clusters.parts import missing as needed_of_clusters


def main() -> int:
    """0 where all specs passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.specs")
    parser.add_argument("--jobs", type=int, default=2, help="specs at a time")
    parser.add_argument("--folder", type=Path, default=parts.CACHE / "runs", help="of logs")
    parser.add_argument("names", nargs="*", metavar="NAME")
    value = parser.parse_args()
    if value.names == ["list"]:
        for name, spec in SPECS.items():
            print(f"{name:26} {spec.machines}")  # noqa: T201
        return 0
    if unknown := [item for item in value.names if item not in SPECS]:
        sys.exit(f"no spec is called {', '.join(unknown)}; `list` prints all names")
    if lack := parts.missing():
        sys.exit(lack)
    wanted = value.names or runnable()
    if any(SPECS[item].autoscaler for item in wanted) and (lack := autoscaler.missing()):
        sys.exit(lack)
    if not containers.is_inside() and any(SPECS[item].is_apart for item in wanted):
        _enter([SPECS[item] for item in wanted])
    failed = []
    with runner(value.folder, wanted) as run, ThreadPoolExecutor(value.jobs) as pool:
        for result in pool.map(run, wanted):
            parts.tell(_line(result))
            failed += [] if result.passed else [result.name]
    return 1 if failed else 0


def _enter(wanted: Sequence[Spec]) -> NoReturn:
    """Build what specs need, and run this program again in namespaces of its own."""
    if lack := needed_of_clusters():
        sys.exit(lack)
    parts.build()
    for old in {spec.old for spec in wanted} - {""}:
        old_release.build(old)
    if any(spec.conformance for spec in wanted):
        conformance.build()
    containers.enter(clusters=any(spec.machines == "containers" for spec in wanted))


def _line(result: Result) -> str:
    verdict = "passed" if result.passed else f"FAILED, see {result.log}"
    return f"{result.name}: {verdict} ({result.seconds:.0f} s)"


if __name__ == "__main__":
    sys.exit(main())
