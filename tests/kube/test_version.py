"""Versions, against what upstream recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from kapy.api.embedded import StatusVersion
from kapy.api.versions import together
from kapy.kube.model import encode
from kapy.kube.version import (
    InvalidVersion,
    compare,
    is_supported_skew,
    parse,
    parse_image_tag,
    parse_tolerant,
)
from tests.oracle.recorded import RECORDED, SAMPLES
from tests.oracle.topic import Record, compared, records

FOLDER = (RECORDED if (RECORDED / "version").is_dir() else SAMPLES) / "version"


def read_as(record: Record) -> Record:
    """What ours makes of a text, in the form of the record."""
    given: Record = {"in": record["in"], "strict_ok": True}
    try:
        version = parse_tolerant(record["in"])
        given |= {"out": str(version), "majorMinorPatch": str(version.core)}
    except InvalidVersion as error:
        given["error"] = str(error)
    try:
        parse(record["in"])
    except InvalidVersion:
        given["strict_ok"] = False
    with suppress(InvalidVersion):
        given["image_tag"] = str(parse_image_tag(record["in"]))
    return given


def compared_as(record: Record) -> Record:
    a, b = parse_tolerant(record["a"]), parse_tolerant(record["b"])
    return {
        "a": record["a"],
        "b": record["b"],
        "compare": compare(a, b),
        "withBuildTags": compare(a, b, build_tags=True),
        "withoutPreReleases": compare(a, b, pre_releases=False),
        "both": compare(a, b, build_tags=True, pre_releases=False),
        "isSupportedVersionSkew": is_supported_skew(a, b),
    }


def counted_as(record: Record) -> Record:
    versions = [
        StatusVersion(version=one.get("version", ""), replicas=one.get("replicas", 0))
        for one in record["in"] or []
    ]
    return {"in": record["in"], "out": [encode(one) for one in together(versions)] or None}


ANSWERS = {
    "parse_tolerant": read_as,
    "compare": compared_as,
    "aggregate_status_versions": counted_as,
}


def differences(name: str) -> Iterator[str]:
    for record in records(FOLDER / f"{name}.jsonl"):
        yield from compared({**record, **_absent(name, record)}, ANSWERS[name](record))


def _absent(name: str, record: Record) -> Record:
    return {"out": record.get("out")} if name == "aggregate_status_versions" else {}


@pytest.mark.parametrize("name", ANSWERS)
def test_versions_mean_what_they_mean_to_upstream(name: str) -> None:
    assert list(differences(name)) == []


def test_versions_have_an_order_without_build_tags() -> None:
    texts = ["v1.34.0-alpha.1", "v1.34.0-alpha.beta", "v1.34.0-rc.1", "v1.34.0", "v1.34.10"]
    assert sorted(map(parse_tolerant, reversed(texts))) == list(map(parse_tolerant, texts))
    assert parse_tolerant("v1.34.0+a") == parse_tolerant("1.34.0+b")
    assert len({parse_tolerant("v1.34.0+a"), parse_tolerant("1.34.0+b")}) == 1
