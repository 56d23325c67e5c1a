"""Documents are packed while nobody reads them, and nobody can tell."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kapy.client.stream import Event
from kapy.engine import idle_packing
from kapy.engine.cache import Informer
from kapy.engine.documents import Documents
from kapy.engine.store import Store
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS
from kapy.kube.packed_json import LARGEST, Packer


def document(name: str, version: int = 1, size: int = 1000) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n", "resourceVersion": str(version)},
        "data": {"text": "x" * size},
    }


def key(name: str) -> Key:
    return Key("n", name)


def pack_idle(documents: Documents, *, passes: int = 2) -> None:
    for _ in range(passes):
        list(documents.pack_idle(Packer()))


def test_only_what_came_before_the_last_pass_is_packed() -> None:
    documents = Documents()
    documents[key("a")] = document("a")
    pack_idle(documents, passes=1)
    documents[key("b")] = document("b")
    pack_idle(documents, passes=1)
    assert list(documents._decoded) == [key("b")]
    pack_idle(documents, passes=1)
    assert not documents._decoded
    assert dict(documents) == {key("a"): document("a"), key("b"): document("b")}


def test_a_document_that_was_read_is_unpacked_for_the_same_while() -> None:
    documents = Documents()
    documents[key("a")] = document("a")
    pack_idle(documents)
    first = documents.get(key("a"))
    pack_idle(documents, passes=1)
    assert first == document("a")
    assert documents.get(key("a")) is first
    pack_idle(documents)
    assert not documents._decoded


def test_a_new_state_replaces_the_packed_one() -> None:
    documents = Documents()
    documents[key("a")] = document("a")
    pack_idle(documents)
    documents[key("a")] = document("a", 2)
    pack_idle(documents)
    assert documents[key("a")] == document("a", 2)


def test_packed_documents_are_counted_found_and_removed_like_others() -> None:
    documents = Documents()
    documents[key("a")] = document("a")
    pack_idle(documents)
    documents[key("b")] = document("b")
    assert (len(documents), set(documents)) == (2, {key("a"), key("b")})
    assert key("a") in documents
    assert key("c") not in documents
    assert documents.get(key("c")) is None
    del documents[key("a")]
    assert key("a") not in documents
    assert len(documents) == 1
    with pytest.raises(KeyError):
        del documents[key("a")]
    with pytest.raises(KeyError):
        _ = documents[key("a")]
    pack_idle(documents, passes=3)
    assert set(documents) == {key("b")}


def test_many_documents_are_read_at_once_packed_or_not() -> None:
    documents = Documents()
    documents[key("a")] = document("a")
    pack_idle(documents)
    documents[key("b")] = document("b")
    assert documents.of([key("b"), key("a")]) == [document("b"), document("a")]
    assert documents.of([key("b")]) == [document("b")]
    with pytest.raises(KeyError):
        documents.of([key("b"), key("c")])


def test_a_document_that_comes_during_a_pass_is_left_to_the_next() -> None:
    documents = Documents()
    for name in "abc":
        documents[key(name)] = document(name)
    pack_idle(documents, passes=1)
    steps = documents.pack_idle(Packer())
    next(steps)
    documents[key("b")] = document("b", 2)
    del documents[key("c")]
    list(steps)
    assert documents._decoded == {key("b"): document("b", 2)}


def test_documents_that_cannot_be_packed_stay() -> None:
    documents = Documents()
    odd: Any = {**document("odd"), "spec": object()}
    documents[key("odd")] = odd
    documents[key("large")] = document("large", size=LARGEST)
    pack_idle(documents, passes=3)
    assert set(documents._decoded) == {key("odd"), key("large")}


def test_holders_of_a_packed_document_are_told() -> None:
    store, forgotten = Store(), list[Key]()
    informer: Informer[Document] = Informer(CONFIG_MAPS, store)
    informer.when_packed(forgotten.append)
    store.take(Event("ADDED", document("a")))
    shared = informer.decode_shared(store.objects[key("a")])
    assert informer._shared == {key("a"): (shared, shared)}
    pack_idle(store.objects)
    assert forgotten == [key("a")]
    assert not informer._shared


async def test_a_program_packs_after_two_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_packing, "_SLICE", -1.0)  # a pause after each step
    monkeypatch.setattr(idle_packing, "_PAUSE", 0.0)
    documents, others = Documents(), Documents()
    for name in "abc":
        documents[key(name)] = others[key(name)] = document(name)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            idle_packing.pack_idle_objects(documents.pack_idle, others.pack_idle, interval=10.0)
        )
        await asyncio.sleep(15)
        assert len(documents._decoded) == 3
        await asyncio.sleep(10)
        task.cancel()
    assert not documents._decoded
    assert not others._decoded
    assert documents._packed[key("a")] is others._packed[key("a")]
    assert documents == others


@pytest.mark.parametrize(("seconds", "calls"), [(0.0, 3), (1.0, 1)])
async def test_free_memory_is_returned_after_passes_that_packed_unless_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, seconds: float, calls: int
) -> None:
    trims: list[float] = []

    def trim() -> float:
        trims.append(asyncio.get_running_loop().time())
        return seconds

    passes = [0, 2, 1, 0, 1]

    def part(_: Packer) -> Iterator[None]:
        return iter([None] * (passes.pop(0) if passes else 0))

    monkeypatch.setattr(idle_packing, "_trim_function", lambda: trim)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(65):
            await idle_packing.pack_idle_objects(part, interval=10)
    assert len(trims) == calls
    assert passes == []


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator of other systems differs")
def test_free_memory_can_be_returned() -> None:
    trim = idle_packing._trim_function()
    assert trim is None or trim() >= 0
