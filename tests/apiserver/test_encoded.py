"""Tests that stored JSON reads the same for every reader, whenever it was decoded."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.audit.auditor import without_managed_fields
from kapy.apiserver.server import Server
from kapy.apiserver.store.stored_object import decode_compactly, share_field_sets
from kapy.apiserver.verbs.watch import WatchStream
from kapy.kube import Document
from kapy.kube.http import Request
from tests.apiserver.requester import CONFIG_MAPS, CRDS, GIZMO, GIZMOS, Asking, config_map, gizmo
from tests.apiserver.requester import running as served


async def over_network(asking: Asking, path: str, **query: str) -> Any:
    """The body as the network gets it."""
    headers = {"accept": "application/json"}
    reply = await asking.transport(Request("GET", path, query, headers, b""))
    assert reply.status == 200
    return msgspec.json.decode(msgspec.json.encode(reply.body))


async def lines(asking: Asking, path: str, count: int, **query: str) -> list[Document]:
    """The first events of a watch as the network gets them."""
    results: list[Document] = []
    async with asking.watching(path, **query) as stream:
        assert isinstance(stream, WatchStream)
        async for chunk in stream.lines():
            results += [msgspec.json.decode(line) for line in chunk.splitlines()]
            if len(results) >= count:
                return results
    raise AssertionError("the watch ended")


QUERIES: list[dict[str, str]] = [
    {},
    {"limit": "2"},
    {"labelSelector": "odd=yes"},
    {"fieldSelector": "spec.color=blue"},
]


@pytest.mark.parametrize("path", [GIZMOS, CONFIG_MAPS])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: next(iter(query), "all"))
async def test_a_list_is_the_same_over_the_network(
    tmp_path: Path, path: str, query: dict[str, str]
) -> None:
    if path == CONFIG_MAPS and "fieldSelector" in query:
        query = {"fieldSelector": "metadata.name=a1"}
    async with served(tmp_path) as asking:
        for number in range(4):
            labels = {"labels": {"odd": "yes"}} if number % 2 else {}
            color = "blue" if number < 2 else "red"
            await asking.create(CONFIG_MAPS, config_map(f"a{number}", **labels))
            document = gizmo(f"a{number}", color=color)
            document["metadata"].update(labels)
            await asking.create(GIZMOS, document)
        await asking.merge(f"{path}/a1", {"metadata": {"annotations": {"changed": "yes"}}})
        written = await asking.get(path, **query)
        assert await over_network(asking, path, **query) == written
        assert len(written["items"]) > 0
    again = Server.open(tmp_path, clock=system_clock)
    asking = Asking(again)
    networks = [await over_network(asking, path, **query) for _ in range(2)]
    assert [item["items"] for item in networks] == [written["items"]] * 2
    assert (await asking.get(path, **query))["items"] == written["items"]
    again.close()


@pytest.mark.parametrize("directory", [True, False], ids=["on disk", "in memory"])
async def test_events_are_the_same_over_the_network(tmp_path: Path, directory: bool) -> None:
    async with served(tmp_path if directory else None) as asking:
        result = await asking.create(GIZMOS, gizmo("a"))
        changed = await asking.merge(f"{GIZMOS}/a", {"spec": {"color": "blue"}})
        await asking.delete(f"{GIZMOS}/a")
        document_left = await asking.create(GIZMOS, gizmo("b"))
        since = str(int(result["metadata"]["resourceVersion"]) - 1)
        resumed = await lines(asking, GIZMOS, 4, resourceVersion=since)
        assert [document["type"] for document in resumed] == [
            "ADDED",
            "MODIFIED",
            "DELETED",
            "ADDED",
        ]
        assert [document["object"] for document in resumed if document["type"] != "DELETED"] == [
            result,
            changed,
            document_left,
        ]
        assert await lines(asking, GIZMOS, 1) == [{"type": "ADDED", "object": document_left}]


async def test_lists_show_stored_objects_by_the_changed_definition(
    tmp_path: Path,
) -> None:
    """Objects that were read before the change, after it, and after a start read the same."""
    changed = copy.deepcopy(GIZMO)
    schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["size"] = {"type": "string", "default": "small"}
    async with served(tmp_path) as asking:
        await asking.create(GIZMOS, gizmo("a"))
    for read_before in (True, False):
        server = Server.open(tmp_path, clock=system_clock)
        asking = Asking(server)
        if read_before:
            assert "size" not in (await asking.get(f"{GIZMOS}/a"))["spec"]
        await asking.merge(f"{CRDS}/gizmos.example.dev", {"spec": changed["spec"]})
        listed = await over_network(asking, GIZMOS)
        assert [item["spec"]["size"] for item in listed["items"]] == ["small"]
        assert (await asking.get(f"{GIZMOS}/a"))["spec"]["size"] == "small"
        await asking.merge(f"{CRDS}/gizmos.example.dev", {"spec": GIZMO["spec"]})
        await server.store.wait_for_commit()
        server.close()


def test_equal_field_sets_are_shared() -> None:
    def entry(time: str) -> Document:
        return {"manager": "m", "time": time, "fieldsV1": {"f:spec": {"f:a": {}}}, "x": 1}

    first: Document = {"metadata": {"managedFields": [entry("1")]}}
    share_field_sets(first, None)
    second: Document = {"metadata": {"managedFields": [entry("2")]}}
    share_field_sets(second, first)
    third = decode_compactly(msgspec.json.encode(second))
    value, two, three = (
        document["metadata"]["managedFields"][0] for document in (first, second, third)
    )
    assert value["fieldsV1"] is two["fieldsV1"] is three["fieldsV1"]
    assert list(two) == list(three) == ["manager", "time", "fieldsV1", "x"]
    assert (value["time"], two) == ("1", entry("2"))


async def test_pre_encoded_objects_are_audited_as_documents(tmp_path: Path) -> None:
    async with served(tmp_path) as asking:
        await asking.create(GIZMOS, gizmo("a"))
        reply = await asking.transport(Request("GET", GIZMOS, {}, {}, b""))
        assert isinstance(reply.body, dict)
        assert isinstance(reply.body["items"][0], msgspec.Raw)
        (result,) = without_managed_fields(reply.body)["items"]
        assert (result["metadata"]["name"], result["spec"]) == (
            "a",
            {"color": "red", "replicas": 1},
        )
        assert "managedFields" not in result["metadata"]
