"""Remediation attempts and their limits. Pure.

An attempt is recorded on the control plane while it lasts, then on the Machine that replaced the
broken one. If that Machine fails before it was healthy for long enough, the next attempt counts as
a retry.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from kapy.api.kubeadm_control_plane import LastRemediationStatus
from kapy.api.kubeadm_control_plane_machines import KubeadmControlPlaneRemediationSpec
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import moment, stamp
from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import decode_json

MIN_HEALTHY_PERIOD = timedelta(hours=1)


class BadAttempt(KapyError):
    """The annotation with an attempt cannot be parsed."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A recorded replacement of a Machine. time: None if it was lost."""

    machine: str
    time: datetime | None
    retry_count: int = 0

    def __str__(self) -> str:
        """Return the value of the annotation with this attempt."""
        time = stamp(self.time) if self.time is not None else None
        content = {"machine": self.machine, "timestamp": time, "retryCount": self.retry_count}
        return json.dumps(content, separators=(",", ":"))

    @property
    def status(self) -> LastRemediationStatus:
        """The attempt in the control plane's status."""
        time = stamp(self.time) if self.time is not None else ""
        return LastRemediationStatus(machine=self.machine, time=time, retry_count=self.retry_count)


@dataclass(frozen=True, slots=True)
class TooSoon:
    """The last attempt failed so recently that the next one must wait."""

    period: timedelta
    remaining: timedelta


@dataclass(frozen=True, slots=True)
class TooOften:
    """No retry is left."""

    max_retry: int


def parse_attempt(text: str, annotation: str) -> Attempt:
    """Parse the annotation with a remediation attempt. annotation: its name, for errors. Raises
    BadAttempt.
    """
    try:
        content: Any = decode_json(text)
        time = content.get("timestamp")
        return Attempt(
            machine=str(content.get("machine", "")),
            time=moment(time) if time else None,
            retry_count=int(content.get("retryCount", 0)),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise BadAttempt(
            f"annotation {annotation} cannot be read ({error}); remove it to have the next"
            " remediation counted as the first"
        ) from None


def previous_attempt(machine: Machine) -> Attempt | None:
    """Return the attempt that created a Machine. Raises BadAttempt."""
    text = machine.metadata.annotations.get(Annotation.REMEDIATION_FOR)
    return None if text is None else parse_attempt(text, Annotation.REMEDIATION_FOR)


def next_attempt(
    spec: KubeadmControlPlaneRemediationSpec, machine: Machine, now: datetime
) -> Attempt | TooSoon | TooOften:
    """Return the attempt to replace a Machine now, or the limit that prevents it. Raises
    BadAttempt.
    """
    first = Attempt(machine.metadata.name, now)
    before = previous_attempt(machine)
    healthy = _seconds(spec.min_healthy_period_seconds, MIN_HEALTHY_PERIOD)
    if before is None or before.time is None or before.time + healthy <= now:
        return first
    period = _seconds(spec.retry_period_seconds, timedelta(0))
    if before.time + period > now:
        return TooSoon(period, before.time + period - now)
    if spec.max_retry is not None and before.retry_count >= spec.max_retry:
        return TooOften(spec.max_retry)
    return replace(first, retry_count=before.retry_count + 1)


def _seconds(seconds: int | None, otherwise: timedelta) -> timedelta:
    return otherwise if seconds is None else timedelta(seconds=seconds)
