"""Ownership of fields of objects that only a webhook can convert."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.resources.conversion_cache import (
    ConversionCache,
    ConversionNeeded,
    resolve_conversions,
)


async def test_work_is_done_once_all_conversions_are_known() -> None:
    conversions, request = ConversionCache(), []

    async def convert(document: Any, version: str) -> Any:
        request.append((document["name"], version))
        return {**document, "apiVersion": version}

    async def work() -> list[Any]:
        return [conversions({"name": name}, "v2")["apiVersion"] for name in "abab"]

    assert await resolve_conversions(work, convert) == ["v2"] * 4
    assert request == [("a", "v2"), ("b", "v2")]


async def test_an_endless_series_of_conversions_ends() -> None:
    conversions, turns = ConversionCache(), iter(range(1000))

    async def convert(document: Any, version: str) -> Any:
        return document

    async def work() -> Any:
        return conversions({"turn": next(turns)}, "v2")

    with pytest.raises(ConversionNeeded):
        await resolve_conversions(work, convert)
