"""Read conditions of provider objects defensively, whatever the provider wrote."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import msgspec

from kapy.api.condition import Condition
from kapy.conditions.lookup import FALSE, TRUE, UNKNOWN
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.model import Model

NO_REASON_REPORTED: Final = "NoReasonReported"

# Providers of the v1beta1 contract may keep the new conditions beside the old ones.
_PATHS: Final = (("status", "v1beta2", "conditions"), ("status", "conditions"))


_STATUSES: Final = frozenset((TRUE, FALSE, UNKNOWN))


class UnreadableConditions(KapyError):
    """The provider's object has conditions that break the contract."""


def foreign_conditions(document: Document) -> list[Condition]:
    """Return the conditions of a provider's object; empty if there are none.

    A condition without a reason gets a default. Raises UnreadableConditions.
    """
    for path in _PATHS:
        node: Any = document
        for part in path:
            node = node.get(part) if isinstance(node, dict) else None
        if isinstance(node, list):
            try:
                return _usual(node) or [_condition(item) for item in node if isinstance(item, dict)]
            except ValueError as error:
                kind = document.get("kind") or "Unstructured"
                raise UnreadableConditions(
                    f"failed to convert {'.'.join(path)} from {kind} to []metav1.Condition: {error}"
                ) from None
    return []


class _Reported(Model):
    """A condition as a provider may write it: every field is optional."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


def _usual(entries: list[Any]) -> list[Condition] | None:
    """Decode conditions without errors or missing fields in one step; None for all others."""
    try:
        result = msgspec.convert(entries, list[_Reported])
    except msgspec.ValidationError:
        return None
    conditions = []
    for reported in result:
        time = reported.last_transition_time
        usual = reported.type and reported.reason and reported.status in _STATUSES
        if not usual or (time and not _USUAL.fullmatch(time)):
            return None
        conditions.append(
            Condition(
                type=reported.type,
                status=reported.status,
                reason=reported.reason,
                message=reported.message,
                last_transition_time=time,
            )
        )
    return conditions


def _condition(entry: Document) -> Condition:
    type_ = _text(entry, "type")
    status = _text(entry, "status")
    time = _text(entry, "lastTransitionTime")
    if time:
        _check_time(time)
    if not type_:
        raise ValueError("type must be set for all conditions")
    if not status:
        raise ValueError(f"status must be set for the {type_} condition")
    if status not in _STATUSES:
        raise ValueError(
            f"status for the {type_} condition must be one of {TRUE}, {FALSE}, {UNKNOWN}"
        )
    return Condition(
        type=type_,
        status=status,
        reason=_text(entry, "reason") or NO_REASON_REPORTED,
        message=_text(entry, "message"),
        last_transition_time=time,
    )


def _text(entry: Document, name: str) -> str:
    value = entry.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    return value


_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_ELEMENTS: Final = [
    (element, re.compile(pattern))
    for element, pattern in (
        ("2006", r"\d{4}"),
        ("-", "-"),
        ("01", r"\d\d"),
        ("-", "-"),
        ("02", r"\d\d"),
        ("T", "T"),
        ("15", r"\d\d"),
        (":", ":"),
        ("04", r"\d\d"),
        (":", ":"),
        ("05", r"\d\d([.,]\d+)?"),
        ("Z07:00", r"Z|[+-]\d\d:\d\d"),
    )
]


# A time in the format of all Kubernetes components needs no further validation.
_USUAL: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII
)


def _check_time(time: str) -> None:
    """Raise ValueError that names the invalid part of an RFC 3339 time, as Go's parser does."""
    if _USUAL.fullmatch(time):
        return
    rest = time
    for element, pattern in _ELEMENTS:
        match = pattern.match(rest)
        if match is None:
            raise _bad_time(time, f' as "{_LAYOUT}": cannot parse "{rest}" as "{element}"')
        rest = rest[match.end() :]
    if rest:
        raise _bad_time(time, f': extra text: "{rest}"')
    try:
        datetime.fromisoformat(time.replace(",", "."))
    except ValueError:
        raise _bad_time(time, ": out of range") from None


def _bad_time(time: str, problem: str) -> ValueError:
    return ValueError(
        f'failed to unmarshal lastTransitionTime value: {time}: parsing time "{time}"{problem}'
    )
