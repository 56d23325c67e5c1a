"""The page of published benchmarks."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import goals, page, published
from benchmarks.machine_load import QUIET_PERCENT
from benchmarks.scenarios import SCENARIOS


def entry(*other_percent: float | None, **figures: list[float]) -> dict[str, Any]:
    machine = {
        "cores": 2,
        "processor": "Xeon",
        "memory_gib": 24,
        "python": "3.11.7",
        "system": "Linux 6",
    }
    runs = [{"other_percent": percent, "load": 1.0} for percent in other_percent]
    rows = [{"step": "create", **figures}]
    return {"machine": machine, "commit": "abc", "date": "2026-01-01", "runs": runs, "rows": rows}


def test_the_page_and_its_plots_are_those_of_the_published_figures() -> None:
    entries = published.read()
    assert page.PAGE.read_text() == page.page(entries)
    drawn = published.ROOT / "docs" / "images"
    for name, _ in page.PLOTS.values():
        assert (drawn / f"benchmarks-{name}.svg").exists() == bool(page.growth(entries))


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ((1.0, QUIET_PERCENT), "other work took at most 10 % of the machine"),
        ((1.0, 40.5), "**the machine was not quiet**: other work took up to 40.5 % of it"),
        ((None,), "how much other work the machine had is not known"),
    ],
)
def test_a_run_reports_whether_the_machine_was_quiet(
    shares: tuple[float | None, ...], sentence: str
) -> None:
    assert sentence in page.page({"1x1+0": entry(*shares)})


def test_a_figure_is_the_median_of_the_runs_with_lowest_and_highest() -> None:
    runs: list[list[published.Row]] = [
        [{"step": "create", "wall_s": wall, "cpu_s": 2, "requests": {}}] for wall in (3, 1, 8)
    ]
    (row,) = published.combined(runs)
    assert row == {"step": "create", "wall_s": [3, 1, 8], "cpu_s": [2, 2, 2]}
    text = page.page({"1x1+0": {**entry(0.0), "rows": [row]}})
    assert "| create | 3 (1 to 8) | 40.4" in text


def test_scenarios_of_clusters_are_sorted_by_their_number() -> None:
    names = ["10x1+0", "settled", "2x1+0", "1x1+3"]
    text = page.page({name: entry(0.0) for name in names})
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["Goals", "settled", "2x1+0", "10x1+0", "1x1+3"]


def test_a_plot_has_a_point_for_each_number_of_clusters() -> None:
    entries = {
        "10x1+0": entry(0.0, wall_s=[5, 5, 5]),
        "1x1+0": entry(0.0, wall_s=[1, 1, 1]),
        "settled": entry(0.0, wall_s=[9, 9, 9]),
    }
    assert page.growth(entries) == {"wall_s": {"1+0": [(1, 1), (10, 5)]}}


def test_each_goal_is_measured_by_scenarios_that_exist() -> None:
    assert set(goals.SCENARIOS) <= set(SCENARIOS)
    published_entries = published.read()
    for goal in goals.GOALS:
        for figure in goal.figures:
            if figure.scenario in published_entries:
                assert goals.NOT_PUBLISHED not in figure.printed(published_entries), figure


def test_a_goal_has_its_figures_and_their_dates() -> None:
    (deletion,) = (goal for goal in goals.GOALS if goal.work.startswith("deletion of 10,000"))
    assert f"| {deletion.target} | {goals.NOT_PUBLISHED} |  |" in goals.section({})
    rows = [{"step": "delete", "clusters_per_s": [31.0, 30.0, 32.0]}]
    entries = {goals.LIFE: {**entry(0.0), "rows": rows}}
    assert f"| {deletion.target} | 31 clusters/s | 2026-01-01 |" in goals.section(entries)


def test_a_change_in_a_large_fleet_is_compared_with_one_in_a_small_fleet() -> None:
    (change,) = (goal for goal in goals.GOALS if goal.work.startswith("one cluster changed"))
    rows = [
        {"step": "a change among 10", "median_s": [0.2, 0.2, 0.2]},
        {"step": "a change among 10,000", "median_s": [0.3, 0.3, 0.3]},
    ]
    entries = {goals.LIFE: {**entry(0.0), "rows": rows}}
    assert change.figures[0].printed(entries) == "1.5 times"
