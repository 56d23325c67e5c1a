"""Limit how many unhealthy Machines may be remediated (`spec.remediation.triggerIf`; pure
functions).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kapy.api.health_check import RemediationTrigger
from kapy.kube.errors import KapyError
from kapy.kube.int_or_percent import InvalidIntOrPercent, scaled_value

ALL: Final = "100%"


class BadLimit(KapyError):
    """A limit is invalid; the message says why."""


class Allowance(NamedTuple):
    """Whether remediation is allowed, and for how many more Machines."""

    allowed: bool
    remediations: int


def allowance(trigger: RemediationTrigger, expected: int, healthy: int) -> Allowance:
    """Return whether remediation is allowed, and for how many more Machines. expected: the number
    of watched Machines. A Machine that has not started counts as unhealthy.

    A range takes precedence over the limit; without either there is no limit. Raises BadLimit.
    """
    unhealthy = expected - healthy
    if trigger.unhealthy_in_range:
        lowest, highest = _range(trigger.unhealthy_in_range)
        return _allowance(highest - unhealthy, allowed=lowest <= unhealthy <= highest)
    try:
        limit = scaled_value(_limit(trigger), expected, round_up=False)
    except InvalidIntOrPercent as error:
        raise BadLimit(f"unhealthyLessThanOrEqualTo: {error}") from None
    return _allowance(limit - unhealthy, allowed=unhealthy <= limit)


def refusal(trigger: RemediationTrigger, expected: int, unhealthy: int) -> str:
    """Return the reason for which remediation is not allowed. unhealthy: the number of unhealthy
    Machines without those that have not started.
    """
    counts = f"(total: {expected}, unhealthy: {unhealthy}"
    subject = "Remediation is not allowed, the number of not started or unhealthy machines"
    if trigger.unhealthy_in_range:
        range_ = f"unhealthyRange: {trigger.unhealthy_in_range})"
        return f"{subject} does not fall within the range {counts}, {range_}"
    return f"{subject} exceeds maxUnhealthy {counts}, maxUnhealthy: {_limit(trigger)})"


def _allowance(remaining: int, *, allowed: bool) -> Allowance:
    return Allowance(allowed, remaining if allowed else 0)


def _limit(trigger: RemediationTrigger) -> int | str:
    limit = trigger.unhealthy_less_than_or_equal_to
    return ALL if limit is None else limit


def _range(text: str) -> tuple[int, int]:
    lowest, _, highest = text.strip("[]").partition("-")
    try:
        results = int(lowest), int(highest)
    except ValueError:
        raise BadLimit(f"unhealthyInRange {text} is no range like [3-5]") from None
    if results[1] < results[0]:
        raise BadLimit(
            f"max value {results[1]} cannot be less than min value {results[0]} for unhealthyRange"
        )
    return results
