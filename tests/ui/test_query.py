"""The fleet table: what is searched, sorted, grouped and counted."""

from __future__ import annotations

import pytest

from kapy.kube import Document
from kapy.ui.query import FleetQuery, query_of, view_of
from kapy.ui.rows import ClusterRow, row_of
from tests.ui.clusters import cluster, condition

WAITS = condition("Available", "False", "NotAvailable", "* WorkersAvailable: no machine yet")
BLOCKED = condition(
    "TopologyReconciled", "False", "ClusterUpgrading", "hooks are blocking: BeforeClusterUpgrade"
)
ROWS = [
    row_of(item)
    for item in (
        cluster("alpaca", namespace="farm", version="v1.9.0", labels={"tier": "gold"}),
        cluster("badger", WAITS, version="v1.31.0", labels={"tier": "iron"}),
        cluster("capybara", condition("Available", "True"), BLOCKED, version="v1.10.0"),
        cluster("dingo", condition("Paused", "True"), class_name="desert"),
    )
]


def _names(query: FleetQuery) -> list[str]:
    return [row.key.name for group in view_of(ROWS, query).groups for row in group.rows]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("", ["badger", "capybara", "dingo", "alpaca"]),
        ("BADG", ["badger"]),
        ("tier=gold", ["alpaca"]),
        ("label:tier", ["badger", "alpaca"]),
        ("version:v1.10", ["capybara"]),
        ("no machine", ["badger"]),
        ("why:beforeclusterupgrade", ["capybara"]),
        ("ns:farm", ["alpaca"]),
        ("class:desert state:paused", ["dingo"]),
        ("name:gold", []),
        ("ns:farm badger", []),
        ("unknown:word", []),
    ],
)
def test_a_search_understands_names_labels_versions_and_reasons(
    search: str, expected: list[str]
) -> None:
    assert _names(FleetQuery(search=search)) == expected


@pytest.mark.parametrize(
    ("sort", "first", "last"),
    [
        ("name", "alpaca", "dingo"),
        ("-name", "dingo", "alpaca"),
        ("version", "alpaca", "dingo"),  # 9 < 10 < 31 < 34
        ("state", "badger", "alpaca"),  # what is urgent comes first
        ("waiting", "badger", "alpaca"),
    ],
)
def test_columns_sort_by_meaning(sort: str, first: str, last: str) -> None:
    names = _names(FleetQuery(sort=sort))
    assert (names[0], names[-1]) == (first, last)


def test_groups_tell_how_many_they_have_on_all_pages() -> None:
    rows = [row_of(cluster(f"c{n:03}", namespace=f"n{n % 2}")) for n in range(120)]
    view = view_of(rows, FleetQuery(group="namespace", size=50, page=2))
    assert [(group.title, group.count, len(group.rows)) for group in view.groups] == [
        ("n0", 60, 10),
        ("n1", 60, 40),
    ]
    assert (view.pages, view.first, view.total) == (3, 50, 120)


def test_a_label_groups_and_its_absence_is_a_group_too() -> None:
    view = view_of(ROWS, FleetQuery(group="label:tier"))
    assert [(group.title, group.count) for group in view.groups] == [
        ("none", 2),
        ("gold", 1),
        ("iron", 1),
    ]


def test_counts_are_of_the_search_and_not_of_the_chosen_state() -> None:
    view = view_of(ROWS, FleetQuery(state="paused"))
    assert {state: n for state, n in view.counts.items() if n} == {
        "failing": 1, "updating": 1, "paused": 1, "ready": 1,
    }  # fmt: skip
    assert [row.key.name for group in view.groups for row in group.rows] == ["dingo"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"sort": "__class__", "size": "7", "page": "-1", "group": "x", "state": "y"},
        {"page": "9" * 5000, "size": "¼", "sort": "-", "group": "label:"},
    ],
)
def test_an_odd_url_shows_the_usual_table(parameters: dict[str, str]) -> None:
    assert query_of(parameters) == FleetQuery()


def test_a_link_keeps_the_query_and_returns_to_the_first_page() -> None:
    query = FleetQuery(search="a&b=c", sort="name", page=3)
    assert query.url(page=4) == "?search=a%26b%3Dc&sort=name&page=4"
    assert query.toggled("name") == "?search=a%26b%3Dc&sort=-name"
    assert query.toggled("age") == "?search=a%26b%3Dc&sort=age"


@pytest.mark.parametrize(
    ("document", "state"),
    [
        (cluster("a"), "ready"),
        (cluster("a", WAITS), "failing"),
        (cluster("a", condition("Available", "True"), BLOCKED), "updating"),
        (cluster("a", condition("Available", "True"), condition("RollingOut", "True")), "updating"),
        (cluster("a", deletionTimestamp="2026-01-01T00:00:00Z"), "deleting"),
        (cluster("a", condition("Paused", "True"), deletionTimestamp="x"), "paused"),
        ({**cluster("a"), "status": {}}, "provisioning"),
        ({"kind": "Cluster", "metadata": {"name": "a"}}, "provisioning"),
    ],
)
def test_the_most_decisive_state_counts(document: Document, state: str) -> None:
    assert row_of(document).state == state


def test_a_cluster_with_fewer_ready_machines_than_wanted_is_degraded() -> None:
    document = cluster("a")
    document["status"]["workers"]["readyReplicas"] = 1
    row: ClusterRow = row_of(document)
    assert (row.state, row.workers) == ("degraded", (1, 2))


def test_the_headline_of_a_wait_names_a_blocking_hook_first() -> None:
    message = "Cluster is upgrading\n  * Following hooks are blocking upgrade: X: no"
    held = condition("TopologyReconciled", "False", "ClusterUpgrading", message)
    row = row_of(cluster("a", condition("Available", "True"), held))
    assert row.headline == ("Blocked by X: no · ClusterUpgrading: Cluster is upgrading")
    assert row_of(cluster("b", WAITS)).headline == "WorkersAvailable: no machine yet"


def test_the_headline_names_the_lack_of_a_connection_last() -> None:
    message = "* RemoteConnectionProbe: not yet\n* InfrastructureReady: no such kind"
    row = row_of(cluster("a", condition("Available", "False", "NotAvailable", message)))
    assert row.headline == "InfrastructureReady: no such kind · RemoteConnectionProbe: not yet"
