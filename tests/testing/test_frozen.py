"""Frozen documents read like any other and refuse every change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.meta import Object, read
from kapy.testing.frozen import Frozen, SharedDocumentChanged, freeze
from tests.engine.fake_server import WIDGETS, FakeServer, widget

PLAIN: Document = {"metadata": {"name": "a", "finalizers": ["x"]}, "spec": {"sizes": [1, {"b": 2}]}}


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(spec={}),
        lambda one: one.pop("spec"),
        lambda one: one.setdefault("status", {}),
        lambda one: one["metadata"].__setitem__("name", "b"),
        lambda one: one["metadata"].__delitem__("name"),
        lambda one: one["metadata"]["finalizers"].append("y"),
        lambda one: one["metadata"]["finalizers"].sort(),
        lambda one: one["metadata"]["finalizers"].__iadd__(["y"]),
        lambda one: one["spec"]["sizes"][1].__ior__({"b": 3}),
        lambda one: one["spec"].clear(),
    ],
)
def test_every_change_is_refused(change: Callable[[Any], Any]) -> None:
    frozen = freeze(PLAIN)
    with pytest.raises(SharedDocumentChanged):
        change(frozen)
    assert frozen == PLAIN


def test_frozen_documents_are_read_encoded_and_copied_like_others() -> None:
    frozen = freeze(PLAIN)
    assert freeze(frozen) is frozen
    assert msgspec.json.encode(frozen) == msgspec.json.encode(PLAIN)
    assert read(frozen, Object).metadata.finalizers == ["x"]
    copied = copy.deepcopy(frozen)
    copied["spec"]["sizes"][1]["b"] = 3
    assert frozen == PLAIN


async def test_all_that_comes_through_a_frozen_transport_is_frozen() -> None:
    server = FakeServer()
    client = Client(Frozen(server))
    made = await client.create(WIDGETS, widget("a"))
    found = await client.get(WIDGETS, Key("default", "a"))
    listed = await client.list(WIDGETS)
    async with client.watch(WIDGETS, resource_version="10") as events:
        event = await anext(events)
    assert found is listed.items[0] is event.document
    for document in (made, found):
        with pytest.raises(SharedDocumentChanged):
            document["metadata"]["name"] = "b"
