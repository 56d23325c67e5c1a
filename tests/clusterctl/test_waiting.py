"""Tests of the waits of a cluster's objects, with their reasons and start times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kapy.clusterctl.describe import EVERYTHING, as_document, discover, waits, waits_table
from kapy.clusterctl.describe.waiting import wait_of
from kapy.kube import Document, Key
from tests.clusterctl.recorded import RecordedSource
from tests.clusterctl.test_describe import RUNS

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SINCE = "2026-01-01T23:58:00Z"


def condition(of: str, status: str, reason: str = "", message: str = "", **more: Any) -> Document:
    results = {"type": of, "status": status, "reason": reason, "message": message}
    return {**results, "lastTransitionTime": SINCE, **more}


def thing(*conditions: Document, metadata: Document | None = None, **status: Any) -> Document:
    return {
        "kind": "Thing",
        "metadata": {"name": "t", "creationTimestamp": SINCE, **(metadata or {})},
        "status": {"conditions": list(conditions), **status},
    }


GOING = {"deletionTimestamp": SINCE, "finalizers": ["a.example.com/x", "b.example.com/y"]}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (thing(condition("Ready", "True", "Ready")), None),
        (thing(), None),
        ({"kind": "Thing", "metadata": {"name": "t"}}, None),
        (
            thing(condition("Ready", "False", "NotReady", "* A: no\n* B: no")),
            "NotReady:\n* A: no\n* B: no",
        ),
        (thing(condition("Ready", "Unknown")), "Ready is Unknown"),
        (
            thing(
                condition("Available", "False", "NotReady"),
                condition("Ready", "False", "NotReady", "* A: no"),
            ),
            "NotReady:\n* A: no",
        ),
        (
            thing(condition("Available", "True"), condition("ScalingUp", "True", "ScalingUp", "1")),
            "ScalingUp: 1",
        ),
        (
            thing(
                condition("Available", "True"),
                condition("RollingOut", "True", "RollingOut"),
                condition("TopologyReconciled", "False", "ClusterUpgrading", "a hook blocks"),
            ),
            "ClusterUpgrading: a hook blocks",
        ),
        (
            thing(condition("Paused", "True", "Paused", "by hand"), condition("Ready", "False")),
            "Paused: by hand",
        ),
        (
            thing(condition("Deleting", "True", "DrainingNode", "3 pods"), metadata=GOING),
            "DrainingNode: 3 pods",
        ),
        (
            thing(condition("Paused", "True", "Paused", "by hand"), metadata=GOING),
            "Paused: by hand",
        ),
        (thing(metadata=GOING), "Deleting: held by a.example.com/x, b.example.com/y"),
        (
            thing(condition("Ready", "False", "NoQuota", "8 of 8", severity="Warning")),
            "NoQuota: 8 of 8",
        ),
        (thing(initialization={"provisioned": False}), "provisioned: not yet reported as true"),
        (thing(ready=False), "ready: not yet reported as true"),
    ],
)
def test_a_waiting_object_names_its_reason(document: Document, why: str | None) -> None:
    assert wait_of(document) == (None if why is None else (SINCE, why))


async def test_waits_are_listed_from_the_cluster_down_with_their_age() -> None:
    cluster = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "fleet"},
        "spec": {},
        "status": {"conditions": [condition("Available", "False", "NotAvailable", "* X: y")]},
    }
    tree = await discover(RecordedSource([cluster]), Key("fleet", "c"), EVERYTHING)
    assert waits_table(waits(tree), NOW) == (
        "OBJECT           SINCE  WAITS FOR\n"
        "Cluster fleet/c  2m     NotAvailable:\n"
        "                        * X: y\n"
    )
    assert as_document(tree)["waitsFor"] == {"since": SINCE, "why": "NotAvailable:\n* X: y"}
    assert waits_table([], NOW) == "Nothing is waited for.\n"


async def test_waiting_clusters_name_the_conditions_of_their_trees() -> None:
    for run in RUNS:
        source = RecordedSource(run["objects"])
        tree = await discover(source, Key("fleet", run["args"][2]), EVERYTHING)
        waiting = {wait.name for wait in waits(tree)}
        for node in tree.walk():
            listed = (node.document or {}).get("status", {}).get("conditions") or []
            if any(item["type"] == "Available" and item["status"] != "True" for item in listed):
                assert node.name in waiting
