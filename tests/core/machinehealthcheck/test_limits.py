"""Tests of the limits on the number of unhealthy Machines that may be remediated."""

from __future__ import annotations

import pytest

from kapy.api.health_check import RemediationTrigger
from kapy.core.machinehealthcheck.status import Allowance, BadLimit, allowance, refusal
from kapy.kube import Document
from kapy.kube.model import decode


def trigger(**fields: object) -> RemediationTrigger:
    document: Document = {
        {"most": "unhealthyLessThanOrEqualTo", "range_": "unhealthyInRange"}[name]: value
        for name, value in fields.items()
    }
    return decode(document, RemediationTrigger)


@pytest.mark.parametrize(
    ("limits", "expected", "healthy", "allowed", "remediations"),
    [
        pytest.param(trigger(), 3, 0, True, 0, id="no limit"),
        pytest.param(trigger(), 0, 0, True, 0, id="no machines"),
        pytest.param(trigger(most=1), 3, 3, True, 1, id="a number"),
        pytest.param(trigger(most=1), 3, 2, True, 0, id="as many as may be"),
        pytest.param(trigger(most=1), 3, 1, False, 0, id="one too many"),
        pytest.param(trigger(most=0), 3, 3, True, 0, id="none may be"),
        pytest.param(trigger(most="40%"), 4, 3, True, 0, id="a share is rounded down"),
        pytest.param(trigger(most="40%"), 4, 2, False, 0, id="more than the share"),
        pytest.param(trigger(range_="[2-3]"), 5, 4, False, 0, id="below the range"),
        pytest.param(trigger(range_="[2-3]"), 5, 3, True, 1, id="in the range"),
        pytest.param(trigger(range_="[2-3]"), 5, 1, False, 0, id="above the range"),
        pytest.param(trigger(range_="[2-3]", most=0), 5, 3, True, 1, id="the range wins"),
    ],
)
def test_remediation_is_allowed_within_limits(
    limits: RemediationTrigger, expected: int, healthy: int, *, allowed: bool, remediations: int
) -> None:
    assert allowance(limits, expected, healthy) == Allowance(allowed, remediations)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (trigger(most="many"), r"unhealthyLessThanOrEqualTo: .* string is not a percentage"),
        (trigger(range_="[5-2]"), "max value 2 cannot be less than min value 5"),
        (trigger(range_="[a-b]"), r"unhealthyInRange \[a-b\] is no range"),
    ],
)
def test_a_limit_without_a_meaning_is_reported(limits: RemediationTrigger, message: str) -> None:
    with pytest.raises(BadLimit, match=message):
        allowance(limits, 3, 3)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (trigger(most=1), "exceeds maxUnhealthy (total: 5, unhealthy: 2, maxUnhealthy: 1)"),
        (trigger(), "exceeds maxUnhealthy (total: 5, unhealthy: 2, maxUnhealthy: 100%)"),
        (
            trigger(range_="[3-5]"),
            "does not fall within the range (total: 5, unhealthy: 2, unhealthyRange: [3-5])",
        ),
    ],
)
def test_a_refusal_names_the_counted_machines(limits: RemediationTrigger, why: str) -> None:
    subject = "Remediation is not allowed, the number of not started or unhealthy machines"
    assert refusal(limits, 5, 2) == f"{subject} {why}"
