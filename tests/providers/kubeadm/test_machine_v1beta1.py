"""The v1beta1 conditions of control plane Machines, and their summary."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.components import observe_components
from kapy.providers.kubeadm.controlplane.etcd import Alarm, Member
from kapy.providers.kubeadm.controlplane.etcd_health import observe_etcd
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, EtcdState, v1beta1_conditions_of
from tests.providers.kubeadm.building import machine, plane
from tests.providers.kubeadm.test_components import node, pods

Said = tuple[str, str, str, str] | None

GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]}
UNREACHABLE: dict[str, Any] = {
    "taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
}
A = Member(1, "a")


def said(control_plane: ControlPlane, type_: str, *, of_machine: bool = True) -> Said:
    """Status, reason, severity and message; None when it is not reported."""
    reported = v1beta1_conditions_of(control_plane.machines[0] if of_machine else control_plane.kcp)
    return next(
        (
            (
                beta1_condition.status,
                beta1_condition.reason,
                beta1_condition.severity,
                beta1_condition.message,
            )
            for beta1_condition in reported
            if beta1_condition.type == type_
        ),
        None,
    )


def bad(reason: str, severity: str, message: str) -> Said:
    return "False", reason, severity, message


def waiting(reason: str, **last: Any) -> Document:
    state = {"state": {"waiting": {"reason": reason}}, **last}
    return {"phase": "Running", "containerStatuses": [state]}


CRASHED = {"lastState": {"terminated": {"exitCode": 1}}}
FAILED = bad("PodFailed", "Error", "All the containers have been terminated")


@pytest.mark.parametrize(
    ("of_machine", "nodes", "scheduler", "expected", "summed_up"),
    [
        ({}, {"a": node("a")}, None, ("True", "", "", ""), ""),
        (GOING, {"a": node("a")}, None, bad("Deleting", "Info", ""), "info"),
        ({"node": False, "healthy": False}, {}, None, None, None),
        ({}, {}, None, bad("PodFailed", "Error", "Missing Node"), "errors"),
        (
            {},
            {"a": node("a", **UNREACHABLE)},
            None,
            ("Unknown", "PodInspectionFailed", "", "Node is unreachable"),
            "unknown",
        ),
        (
            {},
            {"a": node("a", ready="Unknown")},
            None,
            (
                "Unknown",
                "PodInspectionFailed",
                "",
                "Node Ready condition is Unknown, Pod data might be stale",
            ),
            "unknown",
        ),
        (
            {},
            {"a": node("a")},
            {},
            ("Unknown", "PodInspectionFailed", "", "Pod is reporting Unknown status"),
            "",
        ),
        (
            {},
            {"a": node("a")},
            {"phase": "Pending"},
            bad("PodProvisioning", "Info", "Waiting to be scheduled"),
            "info",
        ),
        (
            {},
            {"a": node("a")},
            waiting("CrashLoopBackOff", **CRASHED),
            bad("PodFailed", "Error", "CrashLoopBackOff"),
            "errors",
        ),
        (
            {},
            {"a": node("a")},
            waiting("ContainerCreating"),
            bad("PodProvisioning", "Info", "ContainerCreating"),
            "info",
        ),
        ({}, {"a": node("a")}, {"phase": "Failed"}, FAILED, "errors"),
    ],
)
def test_component_conditions_of_v1beta1_follow_the_pods(
    of_machine: dict[str, Any],
    nodes: dict[str, Document],
    scheduler: Document | None,
    expected: Said,
    summed_up: str | None,
) -> None:
    control_plane = plane(machine("a", **of_machine))
    statuses = {} if scheduler is None else {"kube_scheduler": scheduler}
    observe_components(control_plane, nodes, pods("a", **statuses))
    assert said(control_plane, "SchedulerPodHealthy") == expected
    all_in_all = said(control_plane, "ControlPlaneComponentsHealthy", of_machine=False)
    if summed_up is None:
        assert all_in_all is None
    elif not summed_up:
        assert all_in_all == ("True", "", "", "")
    else:
        assert all_in_all is not None
        words = "unknown control plane status" if summed_up == "unknown" else summed_up
        assert all_in_all[3].startswith("Following Machines are reporting ")
        assert words in all_in_all[3]
        assert all_in_all[3].endswith(": a")


def test_a_missing_pod_is_named() -> None:
    control_plane = plane(machine("a"))
    observe_components(control_plane, {"a": node("a")}, {})
    missing = bad("PodMissing", "Error", "Pod kube-scheduler-a is missing")
    assert said(control_plane, "SchedulerPodHealthy") == missing


def unhealthy(message: str) -> Said:
    return bad("EtcdMemberUnhealthy", "Error", message)


@pytest.mark.parametrize(
    ("member_machine", "state", "expected"),
    [
        (machine("a"), EtcdState(members=[A]), ("True", "", "", "")),
        (machine("a"), EtcdState(members=[]), unhealthy("Missing etcd member")),
        (machine("a", **GOING), EtcdState(members=[A]), bad("Deleting", "Info", "")),
        (machine("a", **GOING), EtcdState(members=[]), unhealthy("Missing etcd member")),
        (machine("a", node=False, healthy=False), EtcdState(members=[A]), None),
        (
            machine("a"),
            EtcdState(members=[Member(1, "a", is_learner=True)]),
            unhealthy("Waiting for learner etcd member to be promoted"),
        ),
        (
            machine("a"),
            EtcdState(members=[A], alarms=[Alarm(1, "NOSPACE")]),
            unhealthy("Etcd member reports alarms: NOSPACE"),
        ),
        (
            machine("a"),
            EtcdState(failure="Failed to connect to etcd: why"),
            ("Unknown", "MemberInspectionFailed", "", "Failed to connect to etcd: why"),
        ),
        (
            machine("a"),
            EtcdState(failure="Failed to get etcd alarms: why", reached=True),
            unhealthy("Failed to get etcd alarms"),
        ),
        (machine("a"), EtcdState(), None),
    ],
)
def test_member_conditions_of_v1beta1_follow_etcd(
    member_machine: Document, state: EtcdState, expected: Said
) -> None:
    control_plane = plane(member_machine)
    observe_etcd(control_plane, state)
    assert said(control_plane, "EtcdMemberHealthy") == expected


def test_errors_of_the_etcd_cluster_precede_those_of_members() -> None:
    control_plane = plane(machine("a"))
    observe_etcd(control_plane, EtcdState(members=[Member(2, "b")]))
    assert said(control_plane, "EtcdClusterHealthy", of_machine=False) == (
        "False",
        "EtcdClusterUnhealthy",
        "Error",
        "Etcd member b does not have a corresponding Machine;"
        " Following Machines are reporting etcd member errors: a",
    )
