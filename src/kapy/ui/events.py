"""Events as rows of a table. Every field of an Event except its object is optional. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from kapy.kube import Document
from kapy.ui.documents import count_at, part, text_at
from kapy.ui.objects import time_of_event


@dataclass(frozen=True, slots=True)
class EventRow:
    """One Event as a row of a table. time: the time of its last occurrence, RFC 3339. count: the
    number of its occurrences.
    """

    time: str
    type: str
    about: str
    reason: str
    message: str
    count: int


def event_row(event: Document) -> EventRow:
    """Convert an Event to a row of a table."""
    about = part(event, "involvedObject")
    return EventRow(
        time=time_of_event(event),
        type=text_at(event, "type") or "Normal",
        about=f"{text_at(about, 'kind')} {text_at(about, 'name')}".strip(),
        reason=text_at(event, "reason"),
        message=text_at(event, "message"),
        count=count_at(event, "series", "count") or count_at(event, "count") or 1,
    )
