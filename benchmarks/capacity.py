"""The capacity model: what a fleet needs, computed from the figures in `figures.json`.

`python -m benchmarks.capacity` prints the tables of docs/concepts/scaling.md. The model is linear:
each figure is a cost per cluster or per machine, measured at up to 1,000 clusters. The page
compares what the model predicts for 10,000 clusters with the measurement.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

FIGURES: Final = Path(__file__).with_name("figures.json")

MANAGER_MEMORY_MIB: Final = 4096
"""The memory limit of one manager process that the model assumes."""
ETCD_QUOTA_MIB: Final = 8192
"""The largest quota that etcd's documentation recommends."""
ETCD_SHARE: Final = 0.5
"""The share of the quota for current objects; old revisions until compaction take the rest."""
IDLE_SHARE: Final = 0.25
"""The share of a core that a manager may spend on probes, so that work finds the rest."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Clusters of one shape: `control_planes` and `workers` are Machines of each cluster."""

    clusters: int
    workers: int = 0
    control_planes: int = 1

    @property
    def machines(self) -> int:
        """The Machines of all clusters."""
        return self.clusters * (self.control_planes + self.workers)

    @property
    def further_machines(self) -> int:
        """The Machines beside the first one of each cluster."""
        return self.machines - self.clusters


@dataclass(frozen=True, slots=True)
class Embedded:
    """The resources of an embedded plane in one process, for a fleet of simulated clusters."""

    memory_mib: float
    creation_s: float
    requests: float


@dataclass(frozen=True, slots=True)
class Sharded:
    """The resources of managers on real Kubernetes, for a fleet.

    cache_mib: the cache of each core manager, which shards do not divide. shards: core managers of
    one management cluster. management_clusters: the smallest number that keeps each within the
    limits. limit: the limit that decides this number. restart_s: CPU seconds of one shard until it
    has reconciled its Machines.
    """

    stored_mib: float
    event_mib: float
    cache_mib: float
    management_clusters: int
    limit: str
    shards: int
    restart_s: float


class Figures:
    """Measured figures by group and name."""

    def __init__(self, groups: Mapping[str, Mapping[str, Mapping[str, object]]]) -> None:
        self._groups = groups

    @classmethod
    def read(cls, path: Path = FIGURES) -> Figures:
        """Read the figures. Raises OSError, ValueError."""
        return cls(json.loads(path.read_text()))

    def value(self, group: str, name: str) -> float:
        """Return one figure. Raises KeyError."""
        value = self._groups[group][name]["value"]
        assert isinstance(value, (int, float))
        return value

    def rows(self) -> Iterable[tuple[str, ...]]:
        """Return each figure with its source and its date, as cells of a table."""
        for group, figures in self._groups.items():
            for name, figure in figures.items():
                yield (
                    group,
                    f"`{name}`",
                    *(str(figure[key]) for key in ("value", "from", "measured")),
                )


def embedded(fleet: Fleet, figures: Figures) -> Embedded:
    """Return what an embedded plane needs."""

    def total(first: str, further: str) -> float:
        return fleet.clusters * figures.value("embedded", first) + (
            fleet.further_machines * figures.value("embedded", further)
        )

    return Embedded(
        figures.value("embedded", "base_mib") + total("mib_per_cluster", "mib_per_worker"),
        total("cpu_s_per_cluster", "cpu_s_per_worker"),
        total("requests_per_cluster", "requests_per_worker"),
    )


def sharded(fleet: Fleet, figures: Figures) -> Sharded:
    """Return what managers on real Kubernetes need."""

    def stored(prefix: str = "") -> float:
        first = figures.value("objects", f"{prefix}kib_per_cluster") * fleet.clusters
        further = figures.value("objects", f"{prefix}kib_per_worker") * fleet.further_machines
        return (first + further) / 1024

    def core(name: str) -> float:
        return figures.value("managers", f"core_{name}")

    cache = fleet.machines * core("cache_mib_per_machine")
    # Half of a manager's memory for its cache: the other half is for connections and work.
    by_cache = cache / (MANAGER_MEMORY_MIB / 2 - core("base_mib"))
    by_etcd = stored() / (ETCD_QUOTA_MIB * ETCD_SHARE)
    management_clusters = max(1, ceil(max(by_cache, by_etcd)))
    clusters = fleet.clusters / management_clusters
    shards = max(
        1,
        ceil(clusters * core("connection_mib_per_cluster") / (MANAGER_MEMORY_MIB / 2)),
        ceil(clusters * core("probe_percent_per_cluster") / (100 * IDLE_SHARE)),
    )
    return Sharded(
        stored(),
        stored("event_"),
        core("base_mib") + cache / management_clusters,
        management_clusters,
        "cache of each manager" if by_cache >= by_etcd else "etcd's quota",
        shards,
        fleet.machines / management_clusters / shards * core("start_cpu_s_per_machine"),
    )


FLEETS: Final = (
    Fleet(100),
    Fleet(1_000),
    Fleet(1_000, workers=3),
    Fleet(10_000),
    Fleet(10_000, workers=9),
    Fleet(100_000, workers=9),
)


def tables(figures: Figures) -> dict[str, str]:
    """Return the tables of the page by name, in Markdown."""
    plane, managers = [], []
    for fleet in FLEETS:
        shape = f"{fleet.clusters:,} x ({fleet.control_planes} + {fleet.workers})"
        small, large = embedded(fleet, figures), sharded(fleet, figures)
        plane.append(
            (
                shape,
                _size(small.memory_mib),
                _duration(small.creation_s),
                f"{small.requests:,.0f}",
            )
        )
        managers.append(
            (
                shape,
                _size(large.stored_mib),
                _size(large.event_mib),
                _size(large.cache_mib),
                f"{large.management_clusters:,}",
                large.limit if large.management_clusters > 1 else "none",
                f"{large.shards:,}",
                _duration(large.restart_s),
            )
        )
    return {
        "figures": table(("group", "figure", "value", "from", "measured"), figures.rows()),
        "embedded": table(
            ("fleet", "memory", "CPU time of its creation", "requests of its creation"), plane
        ),
        "managers": table(
            (
                "fleet",
                "stored objects",
                "watch events of its creation, for each watcher of all kinds",
                "cache of each core manager",
                "management clusters",
                "limit that decides",
                "core shards in each",
                "CPU time of a shard's restart",
            ),
            managers,
        ),
    }


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _size(mib: float) -> str:
    return f"{mib:,.0f} MiB" if mib < 1024 else f"{mib / 1024:,.1f} GiB"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 3600 else f"{seconds / 3600:,.1f} h"


def render(page: str, contents: Mapping[str, str]) -> str:
    """Replace what stands between `<!-- NAME -->` and `<!-- end -->` by the table of that name.

    Raises ValueError where the page has no such place.
    """
    for name, content in contents.items():
        before, start, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not start or not end:
            raise ValueError(f"the page has no place for the table {name!r}")
        page = f"{before}{start}{content}\n{end}{after}"
    return page


def main() -> None:
    """Print all tables, or write them into the page that is named."""
    contents = tables(Figures.read())
    if len(sys.argv) > 1:
        page = Path(sys.argv[1])
        page.write_text(render(page.read_text(), contents))
        return
    sys.stdout.write("\n\n".join(contents.values()) + "\n")


if __name__ == "__main__":
    main()
