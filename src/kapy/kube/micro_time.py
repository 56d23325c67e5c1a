"""Times with microseconds, as Leases and audit events have them (metav1.MicroTime)."""

from __future__ import annotations

from datetime import datetime


def micro_time(moment: datetime) -> str:
    """A moment in UTC as it is written."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
