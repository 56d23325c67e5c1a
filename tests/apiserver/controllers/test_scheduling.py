"""Tests of the Node that a Pod's requests select, and of the message when no Node fits."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.controllers.workloads.scheduling import (
    NodeSnapshot,
    parse_quantities,
    requests_of,
)
from kapy.kube import Document


def node(name: str, *, spec: Document | None = None, **allocatable: str) -> Document:
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"conditions": conditions} | ({"allocatable": allocatable} if allocatable else {})
    return {"metadata": {"name": name}, "spec": spec or {}, "status": status}


def container(**requests: str) -> Document:
    return {"name": "main", "resources": {"requests": requests}}


def pod(on: str = "", phase: str = "Pending", **requests: str) -> Document:
    spec: Document = {"containers": [container(**requests)]} | ({"nodeName": on} if on else {})
    metadata = {"name": "pod", "namespace": "default"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


CASES: dict[str, tuple[Document, dict[str, str]]] = {
    "none": ({"containers": [{"name": "main"}]}, {}),
    "containers add up": (
        {"containers": [container(cpu="100m", memory="1Gi"), container(cpu="1")]},
        {"cpu": "1100m", "memory": "1Gi"},
    ),
    "the largest init container counts where it is larger": (
        {
            "initContainers": [container(cpu="2", memory="1Mi"), container(cpu="1")],
            "containers": [container(cpu="500m", memory="2Mi")],
        },
        {"cpu": "2", "memory": "2Mi"},
    ),
    "sidecars run beside containers and beside later init containers": (
        {
            "initContainers": [
                {**container(cpu="1"), "restartPolicy": "Always"},
                container(cpu="3", memory="1Mi"),
            ],
            "containers": [container(cpu="2")],
        },
        {"cpu": "4", "memory": "1Mi"},
    ),
    "requests of the Pod as a whole, and its overhead": (
        {
            "containers": [container(cpu="1", **{"example.com/gpu": "1"})],
            "resources": {"requests": {"cpu": "2", "example.com/gpu": "5"}},
            "overhead": {"cpu": "250m"},
        },
        {"cpu": "2250m", "example.com/gpu": "1"},
    ),
    "what is no quantity requests nothing": ({"containers": [container(cpu="?")]}, {"cpu": "0"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_pod_requests_the_sum_of_its_concurrent_containers(name: str) -> None:
    spec, expected = CASES[name]
    assert requests_of({"spec": spec}) == parse_quantities(expected)


FITS: dict[str, tuple[list[Document], list[Document], Document, str]] = {
    "as much as is left": (
        [node("a", memory="8Gi")],
        [pod("a", memory="6Gi")],
        pod(memory="2Gi"),
        "a",
    ),
    "not on the Node that is full": (
        [node("a", memory="8Gi"), node("b", memory="8Gi")],
        [pod("a", memory="6Gi"), pod("b"), pod("b")],
        pod(memory="3Gi"),
        "b",
    ),
    "what has ended has left": (
        [node("a", cpu="1", pods="1")],
        [pod("a", "Succeeded", cpu="1"), pod("a", "Failed", cpu="1")],
        pod(cpu="1"),
        "a",
    ),
    "a Node that tells nothing has enough": ([node("a")], [], pod(cpu="64"), "a"),
    "what a Node does not have is not requested": ([node("a", cpu="1")], [], pod(memory="0"), "a"),
}


@pytest.mark.parametrize("name", FITS)
def test_a_pod_gets_a_node_with_enough(name: str) -> None:
    nodes, pods, wanted, expected = FITS[name]
    assert NodeSnapshot(nodes, pods).choose_node(wanted) == (expected, "")


TAINTED = {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}
"""Messages are those of kube-scheduler v1.36 without its words on preemption."""
REFUSED: dict[str, tuple[list[Document], list[Document], Document, str]] = {
    "no Nodes": ([], [], pod(), "0/0 nodes are available:"),
    "memory and cpu": (
        [
            node("a", cpu="1", memory="1Gi"),
            node("b", cpu="8", memory="1Gi"),
            node("c", spec=TAINTED),
        ],
        [],
        pod(cpu="2", memory="2Gi"),
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
        "2 Insufficient memory.",
    ),
    "a resource that no Node has": (
        [node("a", cpu="1")],
        [],
        pod(**{"example.com/gpu": "1"}),
        "0/1 nodes are available: 1 Insufficient example.com/gpu.",
    ),
    "pods": (
        [node("a", pods="1")],
        [pod("a")],
        pod(),
        "0/1 nodes are available: 1 Too many pods.",
    ),
    "cordoned, or of another kind": (
        [node("a", spec={"unschedulable": True}), node("b")],
        [],
        {**pod(), "spec": {"nodeSelector": {"disk": "ssd"}}},
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) were unschedulable.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_unschedulable_pod_reports_the_reason(name: str) -> None:
    nodes, pods, wanted, expected = REFUSED[name]
    assert NodeSnapshot(nodes, pods).choose_node(wanted) == ("", expected)


def test_requests_of_pods_scheduled_together_add_up() -> None:
    room = NodeSnapshot([node("a", memory="8Gi"), node("b", memory="8Gi")], [])
    placed: list[Any] = [room.choose_node(pod(memory="5Gi"))[0] for _ in range(3)]
    assert placed == ["a", "b", ""]
