"""Published figures: `docs/reference/benchmarks.json`, one entry for each scenario.

A run replaces the entries of its own scenarios and leaves all others as they are, so that a
scenario can be measured again alone. An entry names the machine, the commit and the other work
during its runs, because figures of different entries may come from different days.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from benchmarks.machine_load import OtherWork

ROOT: Final = Path(__file__).resolve().parents[1]
FIGURES: Final = ROOT / "docs" / "reference" / "benchmarks.json"
Row: TypeAlias = dict[str, Any]
Entries: TypeAlias = dict[str, dict[str, Any]]
"""Entries by scenario: machine, commit, date, runs (their surroundings), rows."""


def read() -> Entries:
    """Return the published entries."""
    if not FIGURES.exists():
        return {}
    entries: Entries = json.loads(FIGURES.read_text())
    return entries


def write(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the entries, sorted by scenario."""
    FIGURES.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n")


def entry(runs: Sequence[tuple[list[Row], OtherWork]]) -> dict[str, Any]:
    """Return the entry of a scenario that ran one or more times."""
    return {
        "machine": machine(),
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "runs": [{"other_percent": run.percent, "load": run.load} for _, run in runs],
        "rows": combined([rows for rows, _ in runs]),
    }


def combined(runs: Sequence[list[Row]]) -> list[Row]:
    """Return a row for each step: each number as [median, lowest, highest] of the runs."""
    rows: list[Row] = []
    for first in runs[0]:
        same = [row for run in runs for row in run if row["step"] == first["step"]]
        numbers = {
            key: _spread([row[key] for row in same if _is_number(row.get(key))])
            for key, value in first.items()
            if _is_number(value)
        }
        rows.append({"step": first["step"], **numbers})
    return rows


def _spread(values: list[float]) -> list[float]:
    return [round(value, 6) for value in (median(values), min(values), max(values))]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def machine() -> dict[str, Any]:
    """Return what matters of this machine."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    """Return the commit, with a plus sign if the work tree differs from it; "" without git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=8", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
