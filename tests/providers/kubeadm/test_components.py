"""Conditions of Machines from Nodes and static Pods, and of the control plane from Machines."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.components import (
    observe_components,
)
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import conditions
from tests.providers.kubeadm.building import machine, plane

ROLE = "node-role.kubernetes.io/control-plane"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")


def node(name: str, *, ready: str = "True", role: bool = True, **spec: Any) -> Document:
    taints = [{"key": ROLE, "effect": "NoSchedule"}]
    return {
        "metadata": {"name": name, "labels": {ROLE: ""} if role else {}},
        "spec": {"taints": taints, **spec},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def pods(*names: str, **statuses: Document) -> dict[str, Document]:
    """Running pods of these Machines; a status by component replaces one of each."""
    fine: Document = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        f"{component}-{name}": {"status": statuses.get(component.replace("-", "_"), fine)}
        for name in names
        for component in COMPONENTS
    }


def told(control_plane: ControlPlane) -> tuple[str, str, str]:
    condition = conditions.get(control_plane.kcp.status.conditions, "ControlPlaneComponentsHealthy")
    assert condition is not None
    return condition.status, condition.reason, condition.message


def said(control_plane: ControlPlane, type_: str) -> tuple[str, str, str]:
    condition = conditions.get(control_plane.machines[0].status.conditions, type_)
    assert condition is not None
    return condition.status, condition.reason, condition.message


def test_healthy_components_are_reported() -> None:
    control_plane = plane(machine("a"), machine("b"))
    observe_components(control_plane, {"a": node("a"), "b": node("b")}, pods("a", "b"))
    assert told(control_plane) == ("True", "Healthy", "")
    assert said(control_plane, "NodeKubeadmLabelsAndTaintsSet") == ("True", "Set", "")
    assert control_plane.nodes is not None
    assert sorted(control_plane.nodes) == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Pending"}, ("False", "Provisioning", "Waiting to be scheduled")),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]},
            ("False", "Provisioning", "Running init containers"),
        ),
        (
            {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]},
            ("False", "Provisioning", "Waiting for startup or readiness probes"),
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}],
            },
            ("False", "Provisioning", "ContainerCreating"),
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                        "lastState": {"terminated": {"exitCode": 1}},
                    }
                ],
            },
            ("False", "Failed", "CrashLoopBackOff"),
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [{"state": {"terminated": {"reason": "Error"}}}],
            },
            ("False", "Failed", "Error"),
        ),
        ({"phase": "Failed"}, ("False", "Failed", "All the containers have been terminated")),
        ({"phase": "Succeeded"}, ("False", "Failed", "All the containers have been terminated")),
    ],
)
def test_component_conditions_follow_the_pod_status(
    status: Document, expected: tuple[str, str, str]
) -> None:
    control_plane = plane(machine("a"))
    observe_components(control_plane, {"a": node("a")}, pods("a", kube_scheduler=status))
    assert said(control_plane, "SchedulerPodHealthy") == expected
    assert told(control_plane) == (
        "False",
        "NotHealthy",
        f"* Machine a:\n  * SchedulerPodHealthy: {expected[2]}",
    )


def test_a_pod_that_is_not_there_is_missed() -> None:
    control_plane = plane(machine("a"))
    observe_components(control_plane, {"a": node("a")}, {})
    assert said(control_plane, "EtcdPodHealthy") == ("False", "DoesNotExist", "Pod does not exist")
    assert (
        told(control_plane)[2] == "* Machine a:\n  * Control plane components: Pod does not exist"
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({}, "Node a does not exist"),
        (
            {
                "a": node(
                    "a", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
                )
            },
            "Node a is unreachable",
        ),
    ],
)
def test_components_of_a_machine_without_its_node_are_unknown(
    nodes: dict[str, Document], message: str
) -> None:
    control_plane = plane(machine("a"))
    observe_components(control_plane, nodes, pods("a"))
    for type_ in ("APIServerPodHealthy", "NodeKubeadmLabelsAndTaintsSet"):
        assert said(control_plane, type_) == ("Unknown", "InspectionFailed", message)
    assert told(control_plane) == (
        "Unknown",
        "HealthUnknown",
        f"* Machine a:\n  * Control plane components: {message}",
    )


def test_pods_of_a_silent_kubelet_may_be_stale() -> None:
    control_plane = plane(machine("a"))
    observe_components(control_plane, {"a": node("a", ready="Unknown")}, pods("a"))
    assert said(control_plane, "APIServerPodHealthy") == (
        "Unknown",
        "InspectionFailed",
        "Node Ready condition is Unknown, Pod data might be stale",
    )


def test_a_starting_machine_is_not_reported() -> None:
    control_plane = plane(machine("a"), machine("b", node=False, healthy=False))
    observe_components(control_plane, {"a": node("a")}, pods("a"))
    assert told(control_plane) == ("True", "Healthy", "")
    condition = conditions.get(control_plane.machines[1].status.conditions, "APIServerPodHealthy")
    assert condition is not None
    assert condition.message == "Waiting for FakeMachine to report spec.providerID"


def test_machines_with_equal_messages_share_a_line() -> None:
    control_plane = plane(*(machine(name) for name in "abcde"))
    nodes = {name: node(name) for name in "abcde"}
    observe_components(control_plane, nodes, pods("a"))
    assert told(control_plane)[2] == (
        "* Machines b, c, d, ... (1 more):\n  * Control plane components: Pod does not exist"
    )


def test_a_node_without_a_machine_is_reported() -> None:
    control_plane = plane(machine("a"))
    nodes = {"a": node("a"), "x": node("x"), "worker": node("worker", role=False)}
    observe_components(control_plane, nodes, pods("a"))
    assert told(control_plane) == (
        "False",
        "NotHealthy",
        "* Control plane Node x does not have a corresponding Machine",
    )


def test_label_and_taint_of_the_node_are_checked() -> None:
    control_plane = plane(machine("a"))
    observe_components(control_plane, {"a": node("a", role=False, taints=[])}, pods("a"))
    assert said(control_plane, "NodeKubeadmLabelsAndTaintsSet") == (
        "False",
        "NotSet",
        f"Node a does not have the {ROLE} label",
    )


def test_components_of_a_machine_in_deletion_report_it() -> None:
    going = machine("a", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"])
    control_plane = plane(going, machine("b"))
    observe_components(control_plane, {"b": node("b")}, pods("b"))
    assert said(control_plane, "APIServerPodHealthy") == (
        "False",
        "Deleting",
        "Machine is deleting",
    )


def test_without_machines_nothing_is_reported() -> None:
    control_plane = plane()
    observe_components(control_plane, {}, {})
    assert told(control_plane) == (
        "Unknown",
        "HealthUnknown",
        "No Machines reporting control plane status",
    )
