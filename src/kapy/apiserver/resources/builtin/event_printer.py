"""Table columns of Events of both API groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.apiserver.resources.builtin.event_conversion import to_core
from kapy.apiserver.resources.builtin.printer import AgeCell, Printer, titles
from kapy.kube import Document


def _event(document: Document) -> Iterable[Any]:
    if document.get("apiVersion") != "v1":
        document = to_core(document)
    about, series = document.get("involvedObject") or {}, document.get("series")
    kind = str(about.get("kind", "")).lower()
    first = document.get("firstTimestamp") or document.get("eventTime")
    last = document.get("lastTimestamp") or first
    count = document.get("count") or 1
    if series:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    return [
        AgeCell(last),
        document.get("type", ""),
        document.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _source(document),
        str(document.get("message", "")).strip(),
        AgeCell(first),
        count,
        document["metadata"].get("name", ""),
    ]


def _source(document: Document) -> str:
    """Return the component that reports the Event, and its host."""
    source = document.get("source") or {}
    component, host = source.get("component", ""), source.get("host", "")
    if not component:
        component = document.get("reportingComponent", "")
        host = document.get("reportingInstance", "")
    return f"{component}, {host}" if host else component


EVENTS = Printer(
    titles(
        *("Last Seen", "Type", "Reason", "Object", "Subobject+", "Source+", "Message"),
        *("First Seen+", "Count+", "Name+"),
    ),
    _event,
    named=False,
)
