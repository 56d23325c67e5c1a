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
        lambda value: value.update(spec={}),
        lambda value: value.pop("spec"),
        lambda value: value.setdefault("status", {}),
        lambda value: value["metadata"].__setitem__("name", "b"),
        lambda value: value["metadata"].__delitem__("name"),
        lambda value: value["metadata"]["finalizers"].append("y"),
        lambda value: value["metadata"]["finalizers"].sort(),
        lambda value: value["metadata"]["finalizers"].__iadd__(["y"]),
        lambda value: value["spec"]["sizes"][1].__ior__({"b": 3}),
        lambda value: value["spec"].clear(),
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


async def test_documents_of_a_frozen_transport_are_frozen() -> None:
    server = FakeServer()
    client = Client(Frozen(server))
    result = await client.create(WIDGETS, widget("a"))
    results = await client.get(WIDGETS, Key("default", "a"))
    listed = await client.list(WIDGETS)
    async with client.watch(WIDGETS, resource_version="10") as events:
        event = await anext(events)
    assert results is listed.items[0] is event.document
    for document in (result, results):
        with pytest.raises(SharedDocumentChanged):
            document["metadata"]["name"] = "b"
