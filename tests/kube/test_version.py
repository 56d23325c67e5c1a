"""Versions (what upstream recorded of them is in the oracle's topic `version`)."""

from __future__ import annotations

from kapy.kube.version import parse_tolerant


def test_versions_have_an_order_without_build_tags() -> None:
    texts = ["v1.34.0-alpha.1", "v1.34.0-alpha.beta", "v1.34.0-rc.1", "v1.34.0", "v1.34.10"]
    assert sorted(map(parse_tolerant, reversed(texts))) == list(map(parse_tolerant, texts))
    assert parse_tolerant("v1.34.0+a") == parse_tolerant("1.34.0+b")
    assert len({parse_tolerant("v1.34.0+a"), parse_tolerant("1.34.0+b")}) == 1
