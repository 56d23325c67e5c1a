"""Tests of the Pods that a drain evicts from a Node, and of its progress message."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kapy.api.names import Label
from kapy.core.machine.drain import (
    DRAIN,
    MIRROR_POD,
    SKIP,
    WAIT,
    DrainContext,
    DrainProgress,
    PodDisposition,
    Verdict,
    is_unreachable,
    plan_drain,
    pod_disposition,
    progress_message,
)
from kapy.kube import Document, Key

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
BUDGET = "Cannot evict pod as it would violate the pod's disruption budget. needs 2"


def pod(name: str = "p", phase: str = "Running", **metadata: Any) -> Document:
    identity = {"name": name, "namespace": "default"}
    return {"metadata": {**identity, **metadata}, "status": {"phase": phase}}


def of_daemon_set() -> dict[str, Any]:
    return {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "controller": True}]}


@pytest.mark.parametrize(
    ("document", "exists", "expected"),
    [
        (pod(), True, DRAIN),
        (pod(**of_daemon_set()), True, SKIP),
        (pod(**of_daemon_set()), False, DRAIN),
        (pod(phase="Succeeded", **of_daemon_set()), True, DRAIN),
        (pod(annotations={MIRROR_POD: "x"}), True, SKIP),
        (pod(labels={Label.DRAIN: "Skip"}), True, SKIP),
        (pod(labels={Label.DRAIN: "wait-completed"}), True, WAIT),
        (pod(labels={Label.DRAIN: "WaitCompleted"}), True, WAIT),
        (pod(labels={Label.DRAIN: "whatever"}), True, DRAIN),
    ],
)
def test_pods_are_drained_skipped_or_ignored(
    document: Document, exists: bool, expected: PodDisposition
) -> None:
    assert pod_disposition(document, DrainContext(NOW, lambda _: exists)) == expected


def test_terminating_pods_of_an_unreachable_node_count_as_deleted() -> None:
    ended = pod(deletionTimestamp="2026-01-01T00:00:58Z")
    silent = DrainContext(NOW, _no, unreachable=True)
    assert pod_disposition(ended, silent) == SKIP
    just_now = pod(deletionTimestamp="2026-01-01T00:00:59Z")
    assert pod_disposition(just_now, silent) == DRAIN


def test_a_plan_is_sorted_by_name_and_lists_leaving_pods() -> None:
    planned = plan_drain(
        [pod("b"), pod("a"), pod("c", deletionTimestamp="2026-01-01T00:00:00Z")],
        DrainContext(NOW, _no),
    )
    assert [document["metadata"]["name"] for document in planned.evict] == ["a", "b"]
    assert [document["metadata"]["name"] for document in planned.leaving] == ["c"]
    assert not planned.done
    assert plan_drain([pod(annotations={MIRROR_POD: ""})], DrainContext(NOW, _no)).done


def test_lower_orders_leave_first_and_leaving_pods_delay_the_next_order() -> None:
    orders = {
        "a": PodDisposition(Verdict.EVICT, 5),
        "b": PodDisposition(Verdict.EVICT, -1),
        "c": WAIT,
    }

    def planned(*pods: Document) -> dict[str, list[str]]:
        rules = DrainContext(NOW, _no, rules=lambda document: orders[document["metadata"]["name"]])
        plan = plan_drain(pods, rules)
        parts = ("evict", "evict_later", "leaving", "wait", "wait_later")
        named = {part: [item["metadata"]["name"] for item in getattr(plan, part)] for part in parts}
        return {part: names for part, names in named.items() if names}

    leaving = pod("b", deletionTimestamp="2026-01-01T00:00:00Z")
    later = {"evict_later": ["a"], "wait_later": ["c"]}
    assert planned(pod("a"), pod("b"), pod("c")) == {"evict": ["b"], **later}
    assert planned(pod("a"), leaving, pod("c")) == {"leaving": ["b"], **later}
    assert planned(pod("a"), pod("c")) == {"evict_later": ["a"], "wait": ["c"]}
    assert planned(pod("a")) == {"evict": ["a"]}


def test_a_drain_reports_its_progress() -> None:
    refused = {BUDGET: [pod("x"), pod("y")], "no route": [pod("z")]}
    many = [pod(name) for name in "abcde"]
    progress = DrainProgress(
        leaving=many,
        refused=refused,
        waiting=[pod("w")],
        evict_later=[pod("l")],
        wait_later=[pod("m")],
    )
    assert progress_message(progress, "2026-01-01T00:00:00Z") == (
        "Drain not completed yet (started at 2026-01-01T00:00:00Z):\n"
        "* Pods default/a, default/b, default/c, ... (2 more): "
        "deletionTimestamp set, but still not removed from the Node\n"
        "* Pods default/x, default/y: cannot evict pod as it would violate the pod's disruption "
        "budget. needs 2\n"
        "* Pod default/z: failed to evict Pod, no route\n"
        "* Pod default/w: waiting for completion\n"
        "After above Pods have been removed from the Node, the following Pods will be evicted: "
        "default/l\n"
        "After above Pods have been removed from the Node, waiting for the following Pods to "
        "complete without eviction: default/m"
    )


def test_only_some_refusals_are_reported() -> None:
    refused = {f"reason {number}": [pod(str(number))] for number in range(7)}
    lines = progress_message(DrainProgress(refused=refused), "x").split("\n")
    assert len(lines) == 7
    assert lines[-1] == "* 2 Pods with other issues"


def test_a_node_without_heartbeats_is_unreachable() -> None:
    def node(status: str) -> Document:
        return {"status": {"conditions": [{"type": "Ready", "status": status}]}}

    assert is_unreachable(node("Unknown"))
    assert not is_unreachable(node("False"))
    assert not is_unreachable({})


def _no(_: Key) -> bool:
    return False
