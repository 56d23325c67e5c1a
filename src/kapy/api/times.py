"""Times as objects carry them: RFC 3339, UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(text: str) -> datetime:
    """Parse the time in a field of an object. Raises ValueError."""
    when = datetime.fromisoformat(text)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def stamp(when: datetime) -> str:
    """Format a time for a field of an object."""
    return when.astimezone(UTC).isoformat()[:19] + "Z"
