"""Times as objects carry them: RFC 3339, UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(text: str) -> datetime:
    """The moment that an object's field names. Raises ValueError."""
    when = datetime.fromisoformat(text)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def stamp(when: datetime) -> str:
    """The moment as a field of an object carries it."""
    return when.astimezone(UTC).isoformat()[:19] + "Z"
