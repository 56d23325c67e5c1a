"""Strategies of Events in the core group and, with stricter validation, in events.k8s.io."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.event_conversion import to_core
from kapy.apiserver.resources.builtin.strategy import BuiltInStrategy
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FixedText, invalid, required
from kapy.kube.names import path_segment_errors
from kapy.kube.qualified_names import qualified_name_errors

_LONGEST: Final = 128
_LONGEST_MESSAGE: Final = 1024
_CLUSTERWIDE: Final = ("default", "kube-system")
_REFERENCE: Final = {
    "Kind": "kind",
    "Namespace": "namespace",
    "Name": "name",
    "UID": "uid",
    "APIVersion": "apiVersion",
    "ResourceVersion": "resourceVersion",
    "FieldPath": "fieldPath",
}
_SHOWN: Final = {
    "involvedObject": _REFERENCE,
    "related": _REFERENCE,
    "source": {"Component": "component", "Host": "host"},
}
"""Go's field names of nested objects in an Event."""
_TEXTS: Final = (
    *("reason", "message", "type", "action"),
    *("reportingController", "reportingInstance"),
)
_UNSET: Final = "needs to be unset"
_FIXED: Final = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


class EventStrategy(BuiltInStrategy):
    """Events of the core group.

    An Event refers to an object in its own namespace. With an eventTime it also needs a reporting
    component and a reason.
    """

    qualified_finalizers = False
    metadata_last = True

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        return path_segment_errors(name, prefix=prefix)

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        del old
        return list(_errors(document, controller=_COMPONENT))


class NewEventStrategy(BuiltInStrategy):
    """Events of events.k8s.io, in which most fields are immutable."""

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        event = to_core(document)
        errors = list(_errors(event, controller="reportingController"))
        if old is None:
            return [*errors, *_strict_errors(event)]
        before = to_core(old)
        if event.get("series") != before.get("series"):
            errors += _series_errors(event)
        changed = [field for field in _FIXED if event.get(field) != before.get(field)]
        return [*errors, *(_immutable_error(field, event.get(field)) for field in changed)]


def _immutable_error(field: str, value: Any) -> FieldError:
    """Return the error for a changed immutable field, in Go's internal form of an Event."""
    if field == _COMPONENT:
        field = "reportingController"
    if members := _SHOWN.get(field):
        value = FixedText.of({name: (value or {}).get(key) or "" for name, key in members.items()})
    elif field in _TEXTS:
        value = value or ""
    return invalid(field, value, "field is immutable")


_COMPONENT: Final = "reportingComponent"


def _errors(event: Document, *, controller: str) -> Iterator[FieldError]:
    """Yield the errors of both forms; field names are those of the core group."""
    about = (event.get("involvedObject") or {}).get("namespace") or ""
    namespace = event["metadata"].get("namespace", "")
    timed = bool(event.get("eventTime"))
    if timed:
        fitting = bool(about) or namespace in _CLUSTERWIDE
    else:
        fitting = about == namespace if about else namespace == "default"
    if not fitting:
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not timed:
        return
    reporter = event.get(_COMPONENT) or ""
    if not reporter:
        yield required(controller)
    yield from (invalid(controller, reporter, error) for error in qualified_name_errors(reporter))
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field) or ""
        if not value:
            yield required(field)
        elif len(value.encode()) > _LONGEST:
            yield invalid(field, "", f"can have at most {_LONGEST} characters")
    if len((event.get("message") or "").encode()) > _LONGEST_MESSAGE:
        yield invalid("message", "", f"can have at most {_LONGEST_MESSAGE} characters")


def _series_errors(event: Document) -> Iterator[FieldError]:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _strict_errors(event: Document) -> Iterator[FieldError]:
    """Yield the additional errors of new Events in events.k8s.io."""
    yield from _series_errors(event)
    if not event.get("eventTime"):
        yield required("eventTime")
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {kind}")
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(field):
            yield invalid(field, "", _UNSET)
    if any((event.get("source") or {}).values()):
        yield invalid("source", "", _UNSET)
