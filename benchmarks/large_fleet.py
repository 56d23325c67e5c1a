"""100,000 clusters with 1,000,000 machines, played with modelled costs for several splits.

`python -m benchmarks.large_fleet` plays all scenarios, writes the outcomes into `large_fleet.json`
and prints their tables into docs/concepts/scaling.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from benchmarks import published
from benchmarks.capacity import FIGURES as COSTS
from benchmarks.capacity import Figures, Fleet, embedded, render, table
from benchmarks.management_clusters import (
    LargeFleet,
    Outcome,
    Split,
    at_once,
    creation,
    embedded_creation,
    replacement,
    within,
)

OUTCOMES: Final = COSTS.with_name("large_fleet.json")
PAGE: Final = published.ROOT / "docs" / "concepts" / "scaling.md"
FLEET: Final = Fleet(100_000, workers=9)
SPLITS: Final = (Split(1, 8), Split(10, 4), Split(34, 1), Split(34, 4), Split(100, 2))
Outcomes: TypeAlias = dict[str, dict[str, Any]]
"""By split: the outcome of each scenario, and what the settled fleet needs."""


def _create(fleet: LargeFleet) -> Outcome:
    return fleet.play(at_once, creation(fleet.fleet, fleet.figures))


def _create_in_a_day(fleet: LargeFleet) -> Outcome:
    return fleet.play(within(24 * 3600), creation(fleet.fleet, fleet.figures))


def _change(fleet: LargeFleet) -> Outcome:
    one_machine = replacement(fleet.fleet, fleet.figures).times(1 / 10, 2)
    return fleet.play(within(24 * 3600, share=0.1), one_machine)


def _roll_out(fleet: LargeFleet) -> Outcome:
    return fleet.play(at_once, replacement(fleet.fleet, fleet.figures), at_a_time=100)


def _lose_a_shard(fleet: LargeFleet) -> Outcome:
    one_machine = replacement(fleet.fleet, fleet.figures).times(1 / 10, 2)
    return fleet.lose_a_shard(within(600, share=0.01), one_machine)


SCENARIOS: Final[Mapping[str, Callable[[LargeFleet], Outcome]]] = {
    "creation of all clusters at once": _create,
    "creation of all clusters in 24 hours": _create_in_a_day,
    "one machine replaced in 10 % of all clusters in 24 hours": _change,
    "another Kubernetes version in all clusters, 100 at a time in each management cluster": (
        _roll_out
    ),
    "loss of a shard in each management cluster, while 1 % of all clusters change in 10 minutes": (
        _lose_a_shard
    ),
    "loss of a management cluster, its objects restored in another one": LargeFleet.restore,
}


def name_of(split: Split) -> str:
    """Return a split as the tables name it."""
    return f"{split.management_clusters} x {split.shards}"


def outcomes(figures: Figures, fleet: Fleet = FLEET) -> Outcomes:
    """Play all scenarios with all splits."""
    result: Outcomes = {}
    for split in SPLITS:
        divided = LargeFleet(fleet, split, figures)
        result[name_of(split)] = {
            "largest": divided.largest(),
            "memory_mib": round(divided.memory_mib()),
            "limits": {name: round(share, 4) for name, share in divided.limits().items()},
            "scenarios": {name: rounded(play(divided)) for name, play in SCENARIOS.items()},
        }
    return result


def rounded(outcome: Outcome) -> dict[str, float]:
    """Return an outcome as it is stored."""
    return {name: round(value, 4) for name, value in asdict(outcome).items()}


def validation(figures: Figures, entries: published.Entries) -> Iterator[tuple[str, float, float]]:
    """Return predictions of an embedded plane beside published figures: (name, both values)."""
    for number in (100, 1_000, 10_000):
        entry = entries.get(f"{number}x1+0-ecdsa")
        if entry is None:
            continue
        (row,) = (row for row in entry["rows"] if row["step"] == "create")
        fleet = Fleet(number)
        shape = f"{number:,} x (1 + 0)"
        plane = embedded(fleet, figures)
        yield f"{shape}: seconds", embedded_creation(fleet, figures), row["wall_s"][0]
        yield f"{shape}: CPU seconds", plane.creation_s, row["cpu_s"][0]
        yield f"{shape}: requests", plane.requests, row["requests_total"][0]
        yield f"{shape}: MiB", plane.memory_mib, row["peak_mb"][0]


def tables(results: Outcomes, figures: Figures, entries: published.Entries) -> dict[str, str]:
    """Return the tables of the page by name, in Markdown."""
    needs = [
        (
            split,
            f"{result['largest']:,}",
            f"{result['memory_mib']:,} MiB",
            *_first_limit(result["limits"]),
        )
        for split, result in results.items()
    ]
    played = [
        (
            scenario,
            split,
            _time(outcome["p50_s"]),
            _time(outcome["p99_s"]),
            _time(outcome["end_s"]),
            f"{outcome['shard_utilisation']:.0%}",
            f"{outcome['server_utilisation']:.0%}",
        )
        for scenario in SCENARIOS
        for split, result in results.items()
        for outcome in (result["scenarios"][scenario],)
    ]
    compared = [
        (name, f"{predicted:,.0f}", f"{measured:,.0f}", f"{predicted / measured - 1:+.0%}")
        for name, predicted, measured in validation(figures, entries)
    ]
    return {
        "splits": table(
            (
                "management clusters x shards",
                "clusters of the largest shard",
                "memory of its core manager",
                "limit that is reached first",
                "its use",
            ),
            needs,
        ),
        "scenarios": table(
            (
                "scenario",
                "split",
                "median",
                "99 % within",
                "all complete after",
                "busiest shard",
                "API servers",
            ),
            played,
        ),
        "validation": table(("creation", "predicted", "measured", "error"), compared),
    }


def _first_limit(limits: Mapping[str, float]) -> tuple[str, str]:
    name, share = max(limits.items(), key=lambda item: item[1])
    return f"**{name}**" if share > 1 else name, f"{share:.0%}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def read() -> Outcomes:
    """Return the stored outcomes."""
    stored: Outcomes = json.loads(OUTCOMES.read_text())
    return stored


def write_page() -> None:
    """Print the tables of the stored outcomes into the page."""
    contents = tables(read(), Figures.read(), published.read())
    PAGE.write_text(render(PAGE.read_text(), contents))


def main() -> None:
    """Play all scenarios, and store and print the outcomes."""
    began = time.process_time()
    OUTCOMES.write_text(json.dumps(outcomes(Figures.read()), indent=1) + "\n")
    write_page()
    print(f"{OUTCOMES.name} and {PAGE.name}: {time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
