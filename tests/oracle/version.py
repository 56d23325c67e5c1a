"""Topic `version`: versions, counts of them, and upgrade plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from kapy.api.embedded import StatusVersion
from kapy.api.versions import sum_by_version
from kapy.kube.model import encode
from kapy.kube.version import (
    InvalidVersion,
    compare,
    is_supported_skew,
    parse,
    parse_image_tag,
    parse_tolerant,
)
from kapy.topology.upgrade_plan import (
    BadUpgradePlan,
    check_plans,
    class_versions_plan,
    one_minor_plan,
)
from tests.oracle.topic import Check, Record, compared


def _read(record: Record) -> Iterator[str]:
    result: Record = {"in": record["in"], "strict_ok": True}
    try:
        version = parse_tolerant(record["in"])
        result |= {"out": str(version), "majorMinorPatch": str(version.core)}
    except InvalidVersion as error:
        result["error"] = str(error)
    try:
        parse(record["in"])
    except InvalidVersion:
        result["strict_ok"] = False
    with suppress(InvalidVersion):
        result["image_tag"] = str(parse_image_tag(record["in"]))
    return compared(record, result)


def _compared(record: Record) -> Iterator[str]:
    a, b = parse_tolerant(record["a"]), parse_tolerant(record["b"])
    result = {
        "a": record["a"],
        "b": record["b"],
        "compare": compare(a, b),
        "withBuildTags": compare(a, b, build_tags=True),
        "withoutPreReleases": compare(a, b, pre_releases=False),
        "both": compare(a, b, build_tags=True, pre_releases=False),
        "isSupportedVersionSkew": is_supported_skew(a, b),
    }
    return compared(record, result)


def _counted(record: Record) -> Iterator[str]:
    versions = [
        StatusVersion(version=item.get("version", ""), replicas=item.get("replicas", 0))
        for item in record["in"] or []
    ]
    return compared(
        record.get("out"),
        [encode(status_version) for status_version in sum_by_version(versions)] or None,
    )


def _one_minor(record: Record) -> Iterator[str]:
    return _planned(
        record,
        record.get("controlPlane"),
        lambda: one_minor_plan(record["desired"], record["currentControlPlane"]),
    )


def _of_class(record: Record) -> Iterator[str]:
    return _planned(
        record,
        record.get("controlPlane"),
        lambda: class_versions_plan(
            record["versions"], record["desired"], record["currentControlPlane"]
        ),
    )


def _checked(record: Record) -> Iterator[str]:
    return _planned(
        record,
        record.get("out"),
        lambda: check_plans(
            record["desired"],
            record["controlPlaneVersion"],
            record["minWorkersVersion"],
            record["controlPlaneUpgradePlan"],
            record["workersUpgradePlan"],
        ),
    )


def _planned(record: Record, out: Any, plan: Callable[[], list[str]]) -> Iterator[str]:
    try:
        result = plan()
    except BadUpgradePlan as error:
        recorded = record.get("error", "no error")
        return iter(()) if "parse" in recorded else compared(_words(recorded), _words(str(error)))
    if "error" in record:
        return compared(record["error"], result)
    return compared(out or [], result)


def _words(sentence: str) -> list[str]:
    """Lists of versions in the sentence have no order upstream."""
    return sorted(sentence.replace(",", " ").split())


FILES: Final[Mapping[str, Check]] = {
    "parse_tolerant": _read,
    "compare": _compared,
    "aggregate_status_versions": _counted,
    "plan_one_minor": _one_minor,
    "plan_from_class_versions": _of_class,
    "validate_plans": _checked,
}
