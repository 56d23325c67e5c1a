"""Many at once: watchers, writers, objects. `python -m benchmarks` measures the same with more."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, Asking, config_map, gizmo, running

WATCHERS, EVENTS = 1000, 40
WRITERS = 200
OBJECTS, PAGE = 2000, 300


async def lines(stream: Any, count: int) -> list[bytes]:
    """The next events of a watch as they go over the network."""
    results: list[bytes] = []
    chunks: AsyncIterator[bytes] = stream.lines()
    async for chunk in chunks:
        results += chunk.splitlines(keepends=True)
        if len(results) >= count:
            break
    await chunks.aclose()  # type: ignore[attr-defined]
    return results


async def test_a_thousand_watchers_see_every_event_once_and_in_order() -> None:
    async with running() as asking:
        result = await asking.create(GIZMOS, gizmo("a"))
        since = result["metadata"]["resourceVersion"]
        watch = {"watch": "true", "resourceVersion": since}
        streams = [await asking.get(GIZMOS, **watch) for _ in range(WATCHERS)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(lines(stream, EVENTS)) for stream in streams]
            for turn in range(EVENTS):
                await asking.merge(f"{GIZMOS}/a", {"spec": {"replicas": turn + 2}})
        entries = [item.result() for item in tasks]
        assert all(entry == entries[0] for entry in entries)
        events = [json.loads(line)["object"]["spec"]["replicas"] for line in entries[0]]
        assert events == list(range(2, EVENTS + 2))
        for stream in streams:
            await stream.aclose()
        assert asking.server.store.table("gizmos.example.dev").watchers == []


async def test_an_event_for_many_watchers_is_encoded_once() -> None:
    async with running() as asking:
        streams = [await asking.get(GIZMOS, watch="true") for _ in range(50)]
        await asking.create(GIZMOS, gizmo("a"))
        texts = [await anext(stream.lines()) for stream in streams]
        assert len(set(map(id, texts))) == 1
        for stream in streams:
            await stream.aclose()


async def test_concurrent_writers_of_one_object_lose_nothing() -> None:
    patience = random.Random(1)

    async def write(asking: Asking, name: str) -> int:
        for attempt in range(10_000):
            live = await asking.get(f"{CONFIG_MAPS}/shared")
            await asyncio.sleep(0)  # let others in between
            data = {**live.get("data", {}), name: "here"}
            status, _ = await asking.ask("PUT", f"{CONFIG_MAPS}/shared", {**live, "data": data})
            if status == 200:
                return attempt
            assert status == 409
            await asyncio.sleep(patience.random())
        pytest.fail("a writer never won")

    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("shared"))
        async with asyncio.TaskGroup() as group:
            writers = [group.create_task(write(asking, f"w{at}")) for at in range(WRITERS)]
        result = await asking.get(f"{CONFIG_MAPS}/shared")
        assert set(result["data"]) == {f"w{at}" for at in range(WRITERS)}
        assert sum(writer.result() for writer in writers) > 0  # they did get into each other's way


async def test_all_pages_of_a_list_have_one_revision() -> None:
    async with running() as asking:
        names = [f"a{at:05}" for at in range(OBJECTS)]
        for name in names:
            await asking.create(CONFIG_MAPS, config_map(name))
        names_read: list[str] = []
        versions = set()
        token: str | None = ""
        while token is not None:
            more = {"continue": token} if token else {}
            page = await asking.get(CONFIG_MAPS, limit=str(PAGE), **more)
            assert len(page["items"]) <= PAGE
            names_read += [item["metadata"]["name"] for item in page["items"]]
            versions.add(page["metadata"]["resourceVersion"])
            await asking.create(CONFIG_MAPS, config_map(f"b{len(names_read):05}"))
            await asking.delete(f"{CONFIG_MAPS}/{names[-len(names_read) // PAGE - 1]}")
            token = page["metadata"].get("continue") or None
        assert (names_read, len(versions)) == (names, 1)


async def test_a_namespace_is_deleted_despite_concurrent_writes() -> None:
    async def write(asking: Asking, name: str) -> set[int]:
        result, turn = set(), 0
        while 404 not in result:
            path, turn = "/api/v1/namespaces/busy/configmaps", turn + 1
            status, _ = await asking.ask("POST", path, config_map(f"{name}-{turn}"))
            result.add(status)
            await asyncio.sleep(0.01)
        return result

    async with running() as asking:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "busy"}}
        await asking.create("/api/v1/namespaces", space)
        async with asyncio.timeout(600), asyncio.TaskGroup() as group:
            writers = [group.create_task(write(asking, f"w{at}")) for at in range(20)]
            await asyncio.sleep(0.2)
            await asking.delete("/api/v1/namespaces/busy")
        for writer in writers:
            assert {201, 404} <= writer.result() <= {201, 403, 404}
        assert await asking.gone("/api/v1/namespaces/busy")
        assert await asking.names("/api/v1/namespaces/busy/configmaps") == []
