"""Times with microseconds, as Leases and audit events have them (metav1.MicroTime)."""

from __future__ import annotations

from datetime import datetime


def micro_time(moment: datetime) -> str:
    """Return a time in UTC in this format."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
