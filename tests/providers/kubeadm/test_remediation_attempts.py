"""Conditions for another remediation of a Machine, and the order of remediations."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from kapy.api.kubeadm_control_plane_machines import KubeadmControlPlaneRemediationSpec as Spec
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.kube.model import decode
from kapy.providers.kubeadm.controlplane.remediation import most_broken
from kapy.providers.kubeadm.controlplane.remediation_attempts import (
    Attempt,
    BadAttempt,
    TooOften,
    TooSoon,
    next_attempt,
    parse_attempt,
)
from kapy.sdk import conditions
from tests.providers.kubeadm.building import NOW, machine, plane, say

MINUTE = timedelta(minutes=1)


def after(ago: timedelta | None, retries: int = 0) -> Machine:
    """A Machine that was made in the place of one that failed so long ago."""
    annotations = {}
    if ago is not None:
        note = {"machine": "m0", "timestamp": stamp(NOW - ago), "retryCount": retries}
        annotations = {Annotation.REMEDIATION_FOR: json.dumps(note)}
    return decode(machine("m", annotations=annotations), Machine)


@pytest.mark.parametrize(
    ("spec", "before", "expected"),
    [
        ({}, after(None), 0),
        ({}, after(MINUTE), 1),
        ({}, after(MINUTE, retries=41), 42),  # without a limit
        ({}, after(60 * MINUTE, retries=7), 0),  # it was well for long enough
        ({"min_healthy_period_seconds": 30}, after(MINUTE, retries=7), 0),
        ({"min_healthy_period_seconds": 7200}, after(61 * MINUTE, retries=7), 8),
        ({"retry_period_seconds": 90}, after(MINUTE), TooSoon(1.5 * MINUTE, 0.5 * MINUTE)),
        ({"retry_period_seconds": 60}, after(MINUTE), 1),
        ({"max_retry": 0}, after(None), 0),  # the first is no retry
        ({"max_retry": 0}, after(MINUTE), TooOften(0)),
        ({"max_retry": 2}, after(MINUTE, retries=1), 2),
        ({"max_retry": 2}, after(MINUTE, retries=2), TooOften(2)),
    ],
)
def test_a_slot_has_a_limited_number_of_attempts(
    spec: dict[str, Any], before: Machine, expected: Any
) -> None:
    attempt = next_attempt(Spec(**spec), before, NOW)
    if isinstance(expected, int):
        assert attempt == Attempt("m", NOW, expected)
    else:
        assert attempt == expected


def test_an_attempt_reads_as_it_was_written() -> None:
    attempt = Attempt("m", NOW, 2)
    assert str(attempt) == '{"machine":"m","timestamp":"2026-01-01T00:00:00Z","retryCount":2}'
    assert parse_attempt(str(attempt), "a") == attempt
    assert parse_attempt('{"machine":"m","timestamp":null}', "a") == Attempt("m", None)


@pytest.mark.parametrize("text", ["{", "[]", '{"timestamp": "yesterday"}', '{"retryCount": "x"}'])
def test_an_invalid_attempt_is_refused(text: str) -> None:
    with pytest.raises(BadAttempt, match=r"^annotation a/b cannot be read .*; remove it"):
        parse_attempt(text, "a/b")


def test_the_most_broken_machine_is_remediated_first() -> None:
    marked = {Annotation.REMEDIATE_MACHINE: ""}
    control_plane = plane(
        machine("well", age=9000),
        machine("marked", annotations=marked),
        machine("no-node", node=False),
        machine("no-etcd"),
        machine("no-scheduler"),
        machine("older", age=7200),
        machine("newer"),
    )
    say(control_plane, "no-etcd", conditions.false("EtcdMemberHealthy", "NotHealthy", ""))
    say(
        control_plane,
        "no-scheduler",
        conditions.unknown("SchedulerPodHealthy", "InspectionFailed", ""),
    )
    for item in control_plane.machines:
        say(
            control_plane,
            item.metadata.name,
            conditions.true("NodeKubeadmLabelsAndTaintsSet", "Set", ""),
        )
        if item.metadata.name != "well":
            say(
                control_plane,
                item.metadata.name,
                conditions.false("HealthCheckSucceeded", "Bad", ""),
            )
            say(
                control_plane,
                item.metadata.name,
                conditions.false("OwnerRemediated", "Waiting", ""),
            )
    order = []
    while (first := most_broken(control_plane)) is not None:
        order.append(first.metadata.name)
        control_plane.drafts = [
            draft for draft in control_plane.drafts if draft.object is not first
        ]
    assert order == ["marked", "no-node", "no-etcd", "no-scheduler", "older", "newer"]
