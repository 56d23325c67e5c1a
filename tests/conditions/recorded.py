"""Upstream's conditions (oracle topic `conditions`) replayed on ours: one check per file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from kapy.api.condition import Condition
from kapy.conditions import (
    CannotMerge,
    Fallback,
    Merge,
    UnreadableConditions,
    aggregate,
    by_polarity,
    mirror,
    mirror_foreign,
    reasons,
    set_condition,
    summary,
)
from kapy.kube.meta import ObjectMeta
from kapy.kube.model import decode
from kapy.kube.names import Resource
from tests.oracle.topic import Check, Record, compared

NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)
STAMP: Final = "2030-01-01T00:00:00Z"


@dataclass
class Status:
    conditions: list[Condition] = field(default_factory=list)


@dataclass
class Reporter:
    """An object that has conditions and a kind of any name."""

    RESOURCE: Resource
    metadata: ObjectMeta
    status: Status

    @classmethod
    def of(cls, record: Record, generation: int = 0) -> Reporter:
        labels = {"cluster.x-k8s.io/control-plane": ""} if record["controlPlaneLabel"] else {}
        return cls(
            Resource("", "v1", "", record["kind"]),
            ObjectMeta(name=record["name"], labels=labels, generation=generation),
            Status(conditions(record["conditions"])),
        )


def conditions(entries: list[Record] | None) -> list[Condition]:
    return [condition(entry) for entry in entries or []]


def condition(entry: Record) -> Condition:
    return decode({key: value for key, value in entry.items() if value is not None}, Condition)


def shown(value: Condition, *, time: bool) -> Record:
    entry = {
        "type": value.type,
        "status": value.status,
        "reason": value.reason,
        "message": value.message,
    }
    return entry | ({"lastTransitionTime": value.last_transition_time or None} if time else {})


def answer(record: Record, result: Condition | None, error: str, *, time: bool) -> Iterable[str]:
    expected: Any = record.get("error") or dict(record["out"])
    if isinstance(expected, dict) and not time:
        expected.pop("lastTransitionTime", None)
    return compared(expected, shown(result, time=time) if result is not None else error)


def merging(record: Record) -> Merge | None:
    strategy = record.get("mergeStrategy")
    if strategy is None:
        return None
    return Merge(
        priority=by_polarity(strategy["priorityNegativePolarityTypes"] or ()),
        reason=reasons(*strategy["computeReason"]),
        positive=strategy["targetConditionHasPositivePolarity"],
    )


def check_summary(record: Record) -> Iterable[str]:
    result, error = None, ""
    try:
        result = summary(
            Reporter.of(record["object"]),
            record["target"],
            record["forConditionTypes"],
            negative=record.get("negativePolarityConditionTypes") or (),
            ignore_if_missing=record.get("ignoreTypesIfMissing") or (),
            overrides=conditions(record.get("overrideConditions")),
            merge=merging(record),
        )
    except CannotMerge as problem:
        error = str(problem)
    return answer(record, result, error, time=False)


def check_aggregate(record: Record) -> Iterable[str]:
    source = record["sourceType"]
    negative = record.get("negativePolarityConditionTypes") or []
    if negative not in ([], [source]):
        # Ours takes a yes or a no, so that this mistake cannot be made.
        return compared(
            record.get("error"), f'negativePolarityConditionTypes can only be set to ["{source}"]'
        )
    result, error = None, ""
    try:
        result = aggregate(
            [Reporter.of(obj) for obj in record["objects"]],
            source,
            target=record.get("targetConditionType", ""),
            negative=bool(negative),
            merge=merging(record),
        )
    except CannotMerge as problem:
        error = str(problem)
    return answer(record, result, error, time=False)


def fallback(record: Record) -> Fallback | None:
    entry = record.get("fallback")
    return None if entry is None else Fallback(entry["status"], entry["reason"], entry["message"])


def check_mirror(record: Record) -> Iterable[str]:
    result = mirror(
        conditions(record["object"]["conditions"]),
        record["sourceType"],
        target=record.get("targetConditionType", ""),
        fallback=fallback(record),
    )
    return answer(record, result, "", time=True)


def check_mirror_unstructured(record: Record) -> Iterable[str]:
    result, error = None, ""
    try:
        result = mirror_foreign(
            record["object"],
            record["sourceType"],
            target=record["targetConditionType"],
            fallback=fallback(record),
        )
    except UnreadableConditions as problem:
        error = str(problem)
    return answer(record, result, error, time=True)


def check_set(record: Record) -> Iterable[str]:
    target = Reporter.of(record["object"], record["generation"])
    set_condition(target, condition(record["condition"]), NOW)
    result = [
        shown(item, time=True) | {"observedGeneration": item.observed_generation or 0}
        for item in target.status.conditions
    ]
    for document in result:
        if document["lastTransitionTime"] == STAMP:
            document["lastTransitionTime"] = "now"
    return compared(record["out"], result)


FILES: Final[Mapping[str, Check]] = {
    "aggregate": check_aggregate,
    "mirror": check_mirror,
    "mirror_unstructured": check_mirror_unstructured,
    "set": check_set,
    "summary": check_summary,
}
