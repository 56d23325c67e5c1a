"""Conversion of Events between the core group and events.k8s.io."""

from __future__ import annotations

from typing import Final

from kapy.kube import Document

_NEW: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_OLD: Final = {new: old for old, new in _NEW.items()}


def to_core(event: Document) -> Document:
    """Convert an Event of events.k8s.io to the core group."""
    return {_OLD.get(key, key): value for key, value in event.items()} | {"apiVersion": "v1"}


def to_events_group(event: Document) -> Document:
    """Convert an Event of the core group to events.k8s.io."""
    named = {_NEW.get(key, key): value for key, value in event.items()}
    return named | {"apiVersion": "events.k8s.io/v1"}
