"""The capacity model, and the page that prints it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.capacity import (
    ETCD_QUOTA_MIB,
    ETCD_SHARE,
    MANAGER_MEMORY_MIB,
    Figures,
    Fleet,
    embedded,
    render,
    sharded,
    tables,
)

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "scaling.md"
FIGURES = Figures.read()
FLEETS = st.builds(
    Fleet, st.integers(1, 200_000), workers=st.integers(0, 50), control_planes=st.integers(1, 5)
)


def test_the_page_has_the_tables_of_the_model() -> None:
    page = PAGE.read_text()
    assert render(page, tables(FIGURES)) == page


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for the table 'figures'"):
        render("# Nothing\n", {"figures": "| a |"})


@given(FLEETS)
def test_each_management_cluster_keeps_its_limits(fleet: Fleet) -> None:
    need = sharded(fleet, FIGURES)
    assert need.cache_mib <= MANAGER_MEMORY_MIB / 2
    assert need.stored_mib / need.management_clusters <= ETCD_QUOTA_MIB * ETCD_SHARE


@given(FLEETS)
def test_a_management_cluster_less_would_exceed_a_limit(fleet: Fleet) -> None:
    need = sharded(fleet, FIGURES)
    fewer = need.management_clusters - 1
    if not fewer:
        return
    base = FIGURES.value("managers", "core_base_mib")
    cache = base + (need.cache_mib - base) * need.management_clusters / fewer
    stored = need.stored_mib / fewer
    assert cache > MANAGER_MEMORY_MIB / 2 or stored > ETCD_QUOTA_MIB * ETCD_SHARE


@given(FLEETS)
def test_more_workers_never_cost_less(fleet: Fleet) -> None:
    larger = Fleet(fleet.clusters, fleet.workers + 1, fleet.control_planes)
    less, more = embedded(fleet, FIGURES), embedded(larger, FIGURES)
    assert more.memory_mib > less.memory_mib
    assert more.requests > less.requests
    assert sharded(larger, FIGURES).stored_mib > sharded(fleet, FIGURES).stored_mib
