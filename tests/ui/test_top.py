"""`kapy top`: the table of the fleet in a terminal."""

from __future__ import annotations

from datetime import datetime, timedelta
from io import StringIO

from rich.console import Console, ConsoleDimensions

from kapy.cli.top import table_of
from kapy.ui.query import FleetQuery, view_of
from kapy.ui.rows import row_of
from tests.ui.clusters import CREATED, cluster, condition

NOW = datetime.fromisoformat(CREATED) + timedelta(minutes=5)


def _lines(*, height: int = 0, width: int = 120) -> list[str]:
    waits = condition("Available", "False", "NotAvailable", "* WorkersAvailable: [red]no machine")
    rows = [row_of(cluster(f"c{number}")) for number in range(9)]
    rows.append(row_of(cluster("badger", waits)))
    file = StringIO()
    view = view_of(rows, FleetQuery(sort="state"))
    size = ConsoleDimensions(width, height) if height else None
    Console(file=file, width=width).print(table_of(view, NOW, size))
    return file.getvalue().splitlines()


def test_the_most_urgent_cluster_comes_first_with_its_reason() -> None:
    counts, head, first, *rest = _lines()
    assert counts == "not available 1  ready 9"
    assert head.split() == [
        "NAMESPACE", "CLUSTER", "STATE", "VERSION", "CP", "WORKERS", "AGE", "SINCE", "WAITS",
        "FOR",
    ]  # fmt: skip
    assert first.split()[:7] == ["default", "badger", "not", "available", "v1.34.0", "1/1", "2/2"]
    assert first.split()[8:] == ["5m", "WorkersAvailable:", "[red]no", "machine"]
    assert len([line for line in rest if line.strip()]) == 9


def test_a_low_terminal_counts_the_hidden_rows() -> None:
    lines = _lines(height=8)
    assert len(lines) == 7
    assert lines[-1].strip() == "… 6 more"


def test_a_narrow_terminal_cuts_the_reason_and_not_the_name() -> None:
    first = _lines(height=20, width=80)[2]
    assert "badger" in first
    assert len(first) <= 80


def test_a_very_narrow_terminal_leaves_columns_out_for_the_reason() -> None:
    _, head, first, *_ = _lines(height=20, width=80)
    assert head.split() == ["CLUSTER", "STATE", "CP", "WORKERS", "SINCE", "WAITS", "FOR"]
    assert "WorkersAvailable" in first
    _, head, first, *_ = _lines(height=20, width=50)
    assert head.split() == ["CLUSTER", "STATE", "WAITS", "FOR"]
    assert "WorkersAvailable" in first
