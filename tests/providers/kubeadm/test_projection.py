"""The projected etcd members and components after a Machine is added or removed."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.names import Annotation
from kapy.providers.kubeadm.controlplane.etcd import Alarm, Member
from kapy.providers.kubeadm.controlplane.preflight import components_survive, etcd_survives
from kapy.providers.kubeadm.controlplane.scope import EtcdState
from kapy.sdk import conditions
from tests.providers.kubeadm.building import machine, plane, say

A, B, C = Member(1, "a"), Member(2, "b"), Member(3, "c")
LEARNER, NAMELESS, STRANGER = Member(3, "c", is_learner=True), Member(3, ""), Member(9, "x")


@pytest.mark.parametrize(
    ("members", "bad", "without", "adding", "survives"),
    [
        ([A, B, C], "", "a", False, True),
        ([A, B, C], "a", "a", False, True),
        ([A, B, C], "b", "a", False, False),
        ([A, B], "", "a", False, True),
        ([A, B], "b", "a", False, False),
        ([A, B, LEARNER], "", "a", False, False),
        ([A, B, NAMELESS], "", "a", False, False),
        ([A], "", "a", False, False),
        ([A, B, STRANGER], "", "a", False, True),  # nothing bad is known of it
        ([A], "", "", True, True),
        ([A, B], "", "", True, True),
        ([A, B], "b", "", True, False),
        ([A, B, C], "", "", True, True),
        ([A, B, C], "b", "", True, False),
        ([A, B, LEARNER], "", "", True, False),
        ([], "", "", True, True),
    ],
)
def test_etcd_keeps_its_quorum(
    members: list[Member], bad: str, without: str, *, adding: bool, survives: bool
) -> None:
    result = plane(machine("a"), machine("b"), machine("c"))
    result.etcd = EtcdState(members=members)
    if bad:
        say(result, bad, conditions.false("EtcdMemberHealthy", "NotHealthy", "why"))
    assert etcd_survives(result, without=without, adding=adding) is survives


def test_a_member_without_a_machine_is_judged_by_its_alarms() -> None:
    result = plane(machine("a"))
    result.etcd = EtcdState(members=[A, STRANGER], alarms=[Alarm(9, "CORRUPT")])
    assert not etcd_survives(result, without="a")
    assert etcd_survives(result, without="x")


def test_a_member_without_a_name_is_that_of_the_only_machine_that_has_none() -> None:
    control_plane = plane(machine("a"), machine("b"), machine("c"))
    control_plane.etcd = EtcdState(members=[A, B, NAMELESS])
    assert etcd_survives(control_plane, without="c")
    assert not etcd_survives(control_plane, without="a")


def test_a_member_of_a_machine_without_a_node_is_not_known_to_be_healthy() -> None:
    control_plane = plane(machine("a"), machine("b"), machine("c", node=False))
    control_plane.etcd = EtcdState(members=[A, B, C])
    assert not etcd_survives(control_plane, without="a")


@pytest.mark.parametrize(("ready", "survives"), [("True", True), ("Unknown", False)])
def test_a_machine_in_deletion_runs_until_its_hook_is_removed(ready: str, survives: bool) -> None:
    """Two Machines that are deleted at the same time do not wait for each other."""
    going: dict[str, Any] = {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {Annotation.KCP_CLEANUP_HOOK: ""},
    }
    result = plane(machine("a", **going), machine("b", **going), machine("c"))
    for name in ("a", "b"):
        say(result, name, conditions.false("EtcdMemberHealthy", "Deleting", "Machine is deleting"))
    node = {"status": {"conditions": [{"type": "Ready", "status": ready}]}}
    result.etcd, result.nodes = EtcdState(members=[A, B, C]), {"a": node, "b": node, "c": node}
    assert etcd_survives(result, without="a") is survives


@pytest.mark.parametrize(
    ("names", "broken", "without", "adding", "survives"),
    [
        ("ab", "", "a", False, True),
        ("ab", "b", "a", False, False),
        ("ab", "a", "a", False, True),
        ("a", "", "a", False, False),
        ("a", "", "", True, True),
        ("a", "a", "", True, False),
        ("", "", "", True, True),
    ],
)
def test_one_full_set_of_components_stays(
    names: str, broken: str, without: str, *, adding: bool, survives: bool
) -> None:
    result = plane(*(machine(name) for name in names))
    if broken:
        say(result, broken, conditions.unknown("SchedulerPodHealthy", "InspectionFailed", ""))
    assert components_survive(result, without=without, adding=adding) is survives
