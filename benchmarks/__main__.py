"""`python -m benchmarks [SCENARIO…]`: a table, and `benchmarks/results/latest.json`.

With `--publish` it replaces the figures of these scenarios in `docs/reference/benchmarks.json`, and
prints the page and its plots anew. With `--one SCENARIO` it is the process of one scenario, which
prints its rows as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import goals, large_fleet, page, published
from benchmarks.machine_load import QUIET_PERCENT, OtherWork, measure_other_work
from benchmarks.published import Entries
from benchmarks.report import table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def main() -> int:
    options = _parser().parse_args()
    if options.one:
        return _one(options.one)
    from benchmarks.scenarios import SCENARIOS

    _name_peer(options)
    patterns = [*options.scenarios, *(goals.SCENARIOS if options.goals else ())]
    chosen = [
        name
        for name in SCENARIOS
        if _wanted(name, patterns) and not fnmatch.fnmatch(name, options.without)
    ]
    if not chosen:
        sys.stderr.write(f"there is no such scenario; there are {', '.join(SCENARIOS)}\n")
        return 2
    results: list[dict[str, Any]] = []
    entries: Entries = {}
    for name in chosen:
        runs = _repeat(name, options.repeat)
        results += [{"scenario": name, **row} for rows, _ in runs for row in rows]
        if len(runs) == options.repeat:
            entries[name] = published.entry(runs)
        else:
            results.append({"scenario": name, "step": "FAILED"})
    _keep(results)
    if options.publish and entries:
        _publish(entries)
    return int(len(entries) < len(chosen))


def _repeat(name: str, number: int) -> list[tuple[list[dict[str, Any]], OtherWork]]:
    """Run a scenario several times, until one run fails."""
    runs: list[tuple[list[dict[str, Any]], OtherWork]] = []
    for _ in range(number):
        with measure_other_work() as others:
            rows = _run(name)
        if rows is None:
            print(f"{name}: FAILED", flush=True)
            break
        print(table(name, rows), end="", flush=True)
        if others.percent is not None and others.percent > QUIET_PERCENT:
            print(f"  The machine was not quiet: other work took {others.percent:g} % of it.")
        runs.append((rows, others))
    return runs


def _publish(entries: Entries) -> None:
    """Replace entries, and print the pages that show them anew."""
    everything = published.read() | entries
    published.write(everything)
    page.write(everything)
    large_fleet.write_page()
    print(f"Published: {page.PAGE.relative_to(ROOT)}")


def _name_peer(options: argparse.Namespace) -> None:
    """Tell the scenarios, which run in processes of their own, about the other server."""
    from benchmarks.api_server import PEER, PEER_PIDS, PEER_URL

    messages = (
        (PEER, options.peer_kubeconfig),
        (PEER_URL, options.peer_url),
        (PEER_PIDS, options.peer_pids),
    )
    os.environ.update({name: value for name, value in messages if value})


def _one(name: str) -> int:
    from benchmarks.scenarios import SCENARIOS

    print(json.dumps(asyncio.run(SCENARIOS[name]())))
    return 0


def _run(name: str) -> list[dict[str, Any]] | None:
    command = [sys.executable, "-m", "benchmarks", "--one", name]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return None
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def _keep(results: list[dict[str, Any]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    messages = {
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "rows": results,
    }
    path = RESULTS / "latest.json"
    path.write_text(json.dumps(messages, indent=1))
    print(f"\nAll figures: {path.relative_to(ROOT)}")


def _wanted(name: str, patterns: list[str]) -> bool:
    if not patterns:
        from benchmarks.scenarios import ON_DEMAND

        return name not in ON_DEMAND
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "scenarios", nargs="*", help="names or patterns (`10x*`); by default all but real"
    )
    parser.add_argument(
        "--peer-kubeconfig", default="", help="a real kube-apiserver, to be measured beside ours"
    )
    parser.add_argument(
        "--peer-url",
        default="",
        help="its URL, if not the kubeconfig's; or of an extension, to be measured beside ours",
    )
    parser.add_argument("--peer-pids", default="", help="its processes, for their CPU")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each scenario")
    parser.add_argument(
        "--publish", action="store_true", help="put the figures into docs/reference/benchmarks.md"
    )
    parser.add_argument(
        "--goals", action="store_true", help="run the scenarios that have a figure of a goal"
    )
    parser.add_argument("--without", default="", help="a pattern of scenarios not to run")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
