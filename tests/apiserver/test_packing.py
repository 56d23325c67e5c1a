"""Objects that nobody reads for a while are packed, and everything is served as before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kapy._aio.clock import system_clock
from kapy._aio.cooperation import STEPS_PER_TURN
from kapy.apiserver.server import Server
from kapy.apiserver.store.store import Store
from kapy.apiserver.store.stored_object import StoredObject
from kapy.kube.http import ADMIN, Request
from kapy.kube.packed_json import Packer
from tests.apiserver.requester import CONFIG_MAPS, Asking, config_map, running


def pack_idle(store: Store, *, passes: int = 2) -> None:
    for _ in range(passes):
        list(store.pack_idle(Packer()))


def stored(store: Store, name: str) -> StoredObject:
    return store.table("configmaps").namespaces["default"][name]


async def create(asking: Asking, *names: str) -> None:
    for name in names:
        await asking.create(CONFIG_MAPS, {**config_map(name), "data": {"text": "x" * 2000}})


@pytest.mark.parametrize("on_disk", [True, False])
async def test_packed_objects_are_read_changed_and_deleted(tmp_path: Path, on_disk: bool) -> None:
    async with running(tmp_path if on_disk else None) as asking:
        store = asking.server.store
        await create(asking, "a", "b", "c")
        before = [await asking.get(f"{CONFIG_MAPS}/{name}") for name in "abc"]
        pack_idle(store)
        for name in "abc":
            assert stored(store, name).document is None
            assert len(stored(store, name)._kept) < 1000
        assert [await asking.get(f"{CONFIG_MAPS}/{name}") for name in "abc"] == before
        pack_idle(store)
        await asking.delete(f"{CONFIG_MAPS}/a")
        changed = await asking.merge(f"{CONFIG_MAPS}/b", {"data": {"more": "y"}})
        assert changed["data"] == {"text": "x" * 2000, "more": "y"}
        assert await asking.names(CONFIG_MAPS) == ["b", "c"]


async def test_a_packed_object_is_on_disk_as_before(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        await create(asking, "a")
        before = await asking.get(f"{CONFIG_MAPS}/a")
        pack_idle(asking.server.store)
        await asking.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"x": "y"}}})
        await asking.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": None}})
    server = Server.open(tmp_path, clock=system_clock)
    try:
        pack_idle(server.store)  # found on disk, and never read
        assert len(stored(server.store, "a")._kept) < 1000
        after = await Asking(server).get(f"{CONFIG_MAPS}/a")
        assert after["data"] == before["data"]
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
    finally:
        server.close()


async def test_an_object_in_use_is_not_packed(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        store = asking.server.store
        await create(asking, "a")
        pack_idle(store)
        await asking.get(f"{CONFIG_MAPS}/a")
        pack_idle(store, passes=1)
        assert stored(store, "a").document is not None
        pack_idle(store, passes=1)
        assert stored(store, "a").document is None


async def test_a_watch_resumes_over_packed_objects(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        store = asking.server.store
        revision = store.revision
        await create(asking, "a", "b")
        before = [await asking.get(f"{CONFIG_MAPS}/{name}") for name in "ab"]
        pack_idle(store)
        watcher = store.watch(store.table("configmaps"), "default", "", None, revision)
        events = [watcher.ready(), watcher.ready()]
        assert [event and event.document for event in events] == before


@pytest.mark.parametrize("query", [{}, {"watch": "true"}])
async def test_other_tasks_run_while_packed_objects_are_listed(query: dict[str, str]) -> None:
    async with running(None) as asking:
        store = asking.server.store
        await create(asking, *(f"x-{number:03}" for number in range(200)))
        pack_idle(store)
        undecoded = set[int]()

        async def count_undecoded() -> None:
            while True:
                undecoded.add(len(store.table("configmaps").undecoded("default")))
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            counting = group.create_task(count_undecoded())
            await asking.server.transport(ADMIN)(Request("GET", CONFIG_MAPS, query))
            counting.cancel()
        assert len(undecoded) >= 200 // STEPS_PER_TURN
