"""Rows as a table for people, upstream's figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.upstream import figures

_COLUMNS: Final = (
    ("wall_s", "wall s"),
    ("cpu_s", "CPU s"),
    ("requests_total", "requests"),
    ("per_s", "per s"),
)
DETAILS: Final[Mapping[str, str]] = {
    "p50_s": "p50 {} s",
    "p99_s": "p99 {} s",
    "clusters_per_s": "{} clusters/s",
    "cpu_s_per_cluster": "{} CPU s/cluster",
    "requests_per_cluster": "{} requests/cluster",
    "cpu_ms_per_cluster": "{} CPU ms/cluster",
    "core_percent": "{} % of a core",
    "settled_after_s": "settled after {} s",
    "median_s": "{} s in the median",
    "mb": "{} MB",
    "base_mb": "base {} MB",
    "peak_mb": "peak {} MB",
    "mb_per_cluster": "{} MB/cluster",
    "bytes_per_object": "{} bytes/object beyond its JSON",
    "json_bytes": "{} bytes of JSON",
    "open_s": "{} s of it to open and answer",
    "millicores": "{} millicores",
    "p50_us": "p50 {} µs",
    "p99_us": "p99 {} µs",
    "cpu_us_per_request": "{} µs CPU/request",
    "per_core_s": "{} per s on one core",
    "patches": "{} patches in each answer",
    "kib_each": "{} KiB each",
    "kib_per_cluster": "{} KiB/cluster",
    "packing_ms_per_cluster": "{} ms CPU to pack a cluster",
    "held_mb": "{} MB held at most",
    "us": "{} µs at best",
    "median_us": "{} µs in the median",
    "cpu_ms_per_machine": "{} ms CPU/Machine",
    "conflicts_percent": "{} % of writes refused for a conflict",
    "first_reconcile_s": "{} s to the first reconcile",
    "first_reconcile_cpu_s": "{} CPU s to the first reconcile",
    "first_cluster_s": "{} s to the first reconcile of a Cluster",
    "all_reconciled_s": "{} s until all were reconciled",
    "mib": "{} MiB",
    "longest_s": "{} s at longest",
    "loop_held_s": "event loop held {} s at most",
    "task_s": "task of the page {} s at most",
    "load": "load {}",
    "cpu_s_each": "{} CPU s/machine",
    "all_s": "all rounds: {} s",
    "more_s": "2 more workers in {} s",
    "more_cpu_s_each": "{} CPU s for each of these",
}
"""Formats of the figures that stand below or behind those of the columns."""
_EACH: Final[Mapping[str, str]] = {
    "steps": "{} {} s",
    "requests": "{} {}",
    "cpu_s_of": "{} {} CPU s",
    "percent_of_a_core": "{} {} % of a core",
    "by_owner": "{} {} KiB",
}
"""Formats of the figures that a row has for several names."""


def table(scenario: str, rows: list[dict[str, Any]]) -> str:
    """One line for each step; `ours (upstream's)` in each column."""
    lines = [f"\n{scenario}\n"]
    for row in rows:
        upstream = figures(scenario, row["step"])
        cells = [f"  {row['step']:<36}"]
        cells += [_cell(row.get(key), upstream.get(key), unit) for key, unit in _COLUMNS]
        lines.append(" ".join(cells).rstrip() + "\n")
        lines += [f"      {line}\n" for line in _details(row)]
    return "".join(lines)


def _cell(ours: Any, theirs: Any, unit: str) -> str:
    if ours is None:
        return " " * 26
    beside = f" ({theirs:g})" if theirs is not None else ""
    return f"{f'{ours:g} {unit}{beside}':<26}"


def _details(row: dict[str, Any]) -> list[str]:
    formats = [text.format(row[key]) for key, text in DETAILS.items() if row.get(key) is not None]
    lines = [", ".join(formats)] if formats else []
    for key, text in _EACH.items():
        if row.get(key):
            lines.append(", ".join(text.format(*value) for value in row[key].items()))
    return lines
