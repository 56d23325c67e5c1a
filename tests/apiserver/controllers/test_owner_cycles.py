"""Objects that own each other, or themselves, and are deleted in the foreground."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapy.apiserver.controllers.garbage_collector import GarbageCollector
from tests.apiserver.requester import CONFIG_MAPS, Asking, config_map, running

MOST = 200


@pytest.fixture(autouse=True)
def _bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that never rests fails the test instead of stopping it."""
    work, done = GarbageCollector._process, [0]

    async def counted(self: GarbageCollector, place: Any) -> None:
        done[0] += 1
        assert done[0] < MOST, "the collector does not rest"
        await work(self, place)

    monkeypatch.setattr(GarbageCollector, "_process", counted)


async def _owned(asking: Asking, name: str, owner: str) -> None:
    uid = (await asking.get(f"{CONFIG_MAPS}/{owner}"))["metadata"]["uid"]
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner,
        "uid": uid,
        "blockOwnerDeletion": True,
    }
    await asking.merge(f"{CONFIG_MAPS}/{name}", {"metadata": {"ownerReferences": [reference]}})


async def test_two_objects_that_own_each_other_are_deleted() -> None:
    async with running() as asking:
        for name in ("one", "two"):
            await asking.create(CONFIG_MAPS, config_map(name))
        await _owned(asking, "one", "two")
        await _owned(asking, "two", "one")
        await asking.delete(f"{CONFIG_MAPS}/one", propagationPolicy="Foreground")
        await asyncio.sleep(1)
        assert await asking.gone(f"{CONFIG_MAPS}/one")
        assert await asking.gone(f"{CONFIG_MAPS}/two")


async def test_an_object_that_owns_itself_delays_nothing() -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("one"))
        await _owned(asking, "one", "one")
        await asking.delete(f"{CONFIG_MAPS}/one", propagationPolicy="Foreground")
        await asyncio.sleep(1)
        assert (await asking.get(f"{CONFIG_MAPS}/one"))["metadata"]["deletionTimestamp"]
