"""Tests of the health of a Machine, and of the time until the next check."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.health_check import HealthChecks
from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label
from kapy.api.times import stamp
from kapy.contract.observed import Absent, Found
from kapy.core.machinehealthcheck.checks import (
    ClusterFacts,
    Healthy,
    Target,
    Undecided,
    Unhealthy,
    Verdict,
    is_ahead,
    verdict,
)
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.model import decode

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def condition(of: str, status: str, age: float, reason: str = "Because") -> Document:
    """age: for how many seconds it has been so."""
    since = stamp(NOW - timedelta(seconds=age))
    return {
        "type": of,
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": since,
    }


def machine(*conditions: Document, age: float = 3600.0, **metadata: Any) -> Machine:
    document = {
        "metadata": {
            "name": "m",
            "creationTimestamp": stamp(NOW - timedelta(seconds=age)),
            **metadata,
        },
        "spec": {
            "clusterName": "c",
            "bootstrap": {},
            "infrastructureRef": {"apiGroup": "x.example.com", "kind": "T", "name": "t"},
        },
        "status": {"nodeRef": {"name": "n"}, "conditions": list(conditions)},
    }
    return read(document, Machine)


def node(*conditions: Document) -> Found[Document]:
    return Found({"metadata": {"name": "n"}, "status": {"conditions": list(conditions)}})


def cluster(*, initialized: str = "True", ready: str = "True", age: float = 3600.0) -> Cluster:
    conditions = [
        condition("ControlPlaneInitialized", initialized, age),
        condition("InfrastructureReady", ready, age),
    ]
    document = {"metadata": {"name": "c"}, "spec": {}, "status": {"conditions": conditions}}
    return read(document, Cluster)


CHECKS = decode(
    {
        "nodeStartupTimeoutSeconds": 600,
        "unhealthyNodeConditions": [
            {"type": "Ready", "status": "False", "timeoutSeconds": 300},
            {"type": "Ready", "status": "Unknown", "timeoutSeconds": 60},
            {"type": "DiskFull", "status": "True", "timeoutSeconds": 0},
        ],
        "unhealthyMachineConditions": [
            {"type": "Backup", "status": "False", "timeoutSeconds": 5400},
        ],
    },
    HealthChecks,
)
GOOD = node(condition("Ready", "True", 10))
NODE_FAILED = "Condition Ready on Node is reporting status False with reason Because for more than"
MACHINE_FAILED = (
    "Condition Backup on Machine is reporting status False with reason Because for more than"
)


def judged(
    value: Machine,
    its_node: Found[Document] | Absent | None = GOOD,
    of: Cluster | None = None,
    checks: HealthChecks = CHECKS,
) -> Verdict:
    target = Target({}, value, its_node)
    return verdict(target, checks, ClusterFacts.of(of or cluster()), NOW, NOW)


def wait(seconds: float) -> Undecided:
    return Undecided(timedelta(seconds=seconds))


CONTROL_PLANE: dict[str, Any] = {"labels": {Label.CONTROL_PLANE: ""}}
MARKED: dict[str, Any] = {"annotations": {Annotation.REMEDIATE_MACHINE: ""}}
NO_LIMIT = decode({"nodeStartupTimeoutSeconds": 0}, HealthChecks)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(judged(machine()), Healthy(), id="nothing known against it"),
        pytest.param(
            judged(machine(), node(condition("Ready", "False", 299))),
            wait(2),
            id="a bad condition of the node that may pass",
        ),
        pytest.param(
            judged(machine(), node(condition("Ready", "False", 300))),
            wait(1),
            id="at its deadline it has not lasted longer than that",
        ),
        pytest.param(
            judged(
                machine(condition("Backup", "False", 5399)), node(condition("Ready", "False", 9))
            ),
            wait(2),
            id="the first deadline of several counts",
        ),
        pytest.param(
            judged(machine(), node(condition("Ready", "Other", 9999))),
            Healthy(),
            id="a status that nobody asked about",
        ),
        pytest.param(
            judged(machine(deletionTimestamp=stamp(NOW))),
            Undecided(),
            id="on its way out nobody calls it healthy",
        ),
        pytest.param(judged(machine(age=601), None, cluster(age=600)), wait(1), id="starting up"),
        pytest.param(
            judged(machine(condition("InfrastructureReady", "True", 100)), None),
            wait(501),
            id="the time to start begins with its infrastructure",
        ),
        pytest.param(
            judged(machine(condition("InfrastructureReady", "False", 100), age=200), None),
            wait(401),
            id="or when it was made",
        ),
        pytest.param(
            judged(machine(), None, checks=NO_LIMIT), Undecided(), id="all the time to start up"
        ),
        pytest.param(
            judged(machine(), None, cluster(initialized="False")),
            Undecided(),
            id="a worker before there is a control plane",
        ),
        pytest.param(
            judged(machine(), Absent(), cluster(ready="False")),
            Undecided(),
            id="anything before there is an infrastructure",
        ),
    ],
)
def test_a_healthy_machine_gets_its_verdict(verdict: Verdict, expected: Verdict) -> None:
    assert verdict == expected


@pytest.mark.parametrize(
    ("verdict", "reason", "problems", "legacy"),
    [
        pytest.param(
            judged(machine(), node(condition("Ready", "False", 301))),
            "UnhealthyNode",
            [f"{NODE_FAILED} 5m0s"],
            ("UnhealthyNode", f"{NODE_FAILED} 5m0s"),
            id="node condition",
        ),
        pytest.param(
            judged(machine(), node({"type": "DiskFull", "status": "True"})),
            "UnhealthyNode",
            ["Condition DiskFull on Node is reporting status True with reason  for more than 0s"],
            (
                "UnhealthyNode",
                "Condition DiskFull on Node is reporting status True with reason  for more than 0s",
            ),
            id="a condition that does not say since when",
        ),
        pytest.param(
            judged(machine(condition("Backup", "False", 5401))),
            "UnhealthyMachine",
            [f"{MACHINE_FAILED} 1h30m0s"],
            ("UnhealthyMachine", f"{MACHINE_FAILED} 1h30m0s"),
            id="machine condition",
        ),
        pytest.param(
            judged(
                machine(condition("Backup", "False", 5401)), node(condition("Ready", "False", 301))
            ),
            "UnhealthyMachine",
            [f"{MACHINE_FAILED} 1h30m0s", f"{NODE_FAILED} 5m0s"],
            ("UnhealthyMachine", f"{MACHINE_FAILED} 1h30m0s; {NODE_FAILED} 5m0s"),
            id="both: the machine's goes first",
        ),
        pytest.param(
            judged(machine(), Absent()),
            "NodeDeleted",
            ["Node n has been deleted"],
            ("NodeNotFound", ""),
            id="the node is gone",
        ),
        pytest.param(
            judged(machine(), None),
            "NodeStartupTimeout",
            ["Node failed to report startup in 10m0s"],
            ("NodeStartupTimeout", "Node failed to report startup in 10m0s"),
            id="it never became a node",
        ),
        pytest.param(
            judged(machine(**CONTROL_PLANE), None, cluster(initialized="False")),
            "NodeStartupTimeout",
            ["Node failed to report startup in 10m0s"],
            ("NodeStartupTimeout", "Node failed to report startup in 10m0s"),
            id="the first control plane machine neither",
        ),
    ],
)
def test_an_unhealthy_machine_gets_its_reason(
    verdict: Verdict, reason: str, problems: list[str], legacy: tuple[str, str]
) -> None:
    message = "\n".join(["Health check failed:", *(f"  * {problem}" for problem in problems)])
    assert verdict == Unhealthy(reason, message, *legacy)


def test_a_user_may_mark_a_machine_in_any_state() -> None:
    verdict = judged(machine(**MARKED), GOOD, cluster(initialized="False", ready="False"))
    assert isinstance(verdict, Unhealthy)
    assert verdict.reason == "HasRemediateAnnotation"
    assert verdict.legacy_reason == "HasRemediateMachineAnnotation"


def test_nodes_are_dated_by_the_workload_cluster() -> None:
    target = Target({}, machine(), node(condition("Ready", "False", 10)))
    facts, hour = ClusterFacts.of(cluster()), timedelta(hours=1)
    assert isinstance(verdict(target, CHECKS, facts, NOW, NOW), Undecided)
    assert isinstance(verdict(target, CHECKS, facts, NOW + hour, NOW), Undecided)
    assert isinstance(verdict(target, CHECKS, facts, NOW, NOW + hour), Unhealthy)


def test_a_time_that_is_still_to_come_does_not_put_off_the_next_check() -> None:
    """A clock was set back: the next check comes when it would if the time were now."""
    bad = node(condition("Ready", "False", 0))
    now = judged(machine(), bad)
    assert judged(machine(), node(condition("Ready", "False", -3600))) == now
    waiting = judged(machine(age=0), None)
    assert judged(machine(age=-3600), None) == waiting


@pytest.mark.parametrize(("age", "expected"), [(30, False), (-4, False), (-3600, True)])
def test_a_node_that_changes_in_the_future_is_ahead(age: float, expected: bool) -> None:
    there = node(condition("Ready", "False", age))
    assert is_ahead(Target({}, machine(), there), NOW) is expected
    assert not is_ahead(Target({}, machine(), Absent()), NOW)
