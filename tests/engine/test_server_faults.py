"""A small controller over the real server, on days on which everything goes wrong.

For each ConfigMap labelled `app=source` it keeps a copy, and takes the copy away before it lets
the source go. Whatever happens on the way, in the end the copies are those of the sources. Each
seed is another day; KAPY_SEEDS=200 for more of them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import ClassVar

import pytest
from msgspec import field

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.intercept import RequestCounter
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.errors import AlreadyExists, ApiError, NotFound
from kapy.kube.http import ADMIN
from kapy.kube.meta import Object, ObjectMeta
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, Resource
from kapy.testing.faults import BAD_DAY, Faults
from kapy.testing.frozen import Frozen

FINALIZER = "example.com/copier"
COPY = "-copy"
SEEDS = int(os.environ.get("KAPY_SEEDS", "8"))


class ConfigMap(Object):
    RESOURCE: ClassVar[Resource] = CONFIG_MAPS

    data: dict[str, str] = field(default_factory=dict)


def source_of(change: Change) -> Iterable[Key]:
    key = Key.of(change.document)
    labels = change.document["metadata"].get("labels") or {}
    if key.name.endswith(COPY):
        yield key._replace(name=key.name.removesuffix(COPY))
    elif labels.get("app") == "source":
        yield key


class Copier:
    def __init__(self, runtime: Runtime) -> None:
        self.client = runtime.client
        self.maps = runtime.cache.informer(ConfigMap)
        self.events = runtime.events.for_component("copier")
        controller = runtime.add(Controller("copier", self.reconcile, concurrency=3))
        controller.watch(self.maps, source_of)

    async def reconcile(self, key: Key) -> Result:
        document = self.maps.raw(key)
        if document is None:
            return DONE
        draft = Draft(self.client, ConfigMap, document)
        finalizers = draft.object.metadata.finalizers
        copy = key._replace(name=key.name + COPY)
        if draft.object.deleting:
            if await self._gone(copy) and FINALIZER in finalizers:
                finalizers.remove(FINALIZER)
        elif FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
        else:
            await self._copy(copy, draft.object.data)
            draft.object.metadata.annotations["copied"] = str(len(draft.object.data))
        await draft.save()
        return DONE

    async def _gone(self, copy: Key) -> bool:
        if self.maps.raw(copy) is None:
            with suppress(NotFound):
                await self.client.get(CONFIG_MAPS, copy)
                await self.client.delete(CONFIG_MAPS, copy)
            return True
        with suppress(NotFound):
            await self.client.delete(CONFIG_MAPS, copy)
        return True

    async def _copy(self, key: Key, data: dict[str, str]) -> None:
        copy = self.maps.get(key)
        if copy is None:
            metadata = ObjectMeta(name=key.name, namespace=key.namespace)
            with suppress(AlreadyExists):
                copy = await self.client.create(ConfigMap(metadata=metadata, data=data))
                self.events.normal(copy, "Copied", "made a copy")
        elif copy.data != data:
            missing = dict.fromkeys(copy.data.keys() - data.keys())
            await self.client.patch(ConfigMap, key, {"data": {**missing, **data}})


class Day:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        clock = loop_clock()
        self.server = Server.open(None, clock=clock)
        self.people = Client(self.server.transport(ADMIN), field_manager="people")
        self.faults = Faults(self.server.transport(ADMIN), BAD_DAY, seed=seed)
        self.requests = RequestCounter(self.faults)
        self.runtime = Runtime.on(Frozen(self.requests), clock=clock, random=Random(seed))
        self.copier = Copier(self.runtime)

    async def people_are_busy(self, steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(self.chance.random())
            key = Key("default", f"m{self.chance.randrange(8)}")
            data = {self.chance.choice("abc"): str(self.chance.random())}
            with suppress(ApiError):
                await self._one_thing(key, data)

    async def _one_thing(self, key: Key, data: dict[str, str]) -> None:
        match self.chance.choice(["create", "create", "change", "annotate", "delete"]):
            case "create":
                labels = {"app": "source"}
                metadata = ObjectMeta(name=key.name, namespace=key.namespace, labels=labels)
                await self.people.create(ConfigMap(metadata=metadata, data=data))
            case "change":
                await self.people.patch(CONFIG_MAPS, key, {"data": data})
            case "annotate":
                note = {"metadata": {"annotations": {"note": str(self.chance.random())}}}
                await self.people.patch(CONFIG_MAPS, key, note)
            case _:
                await self.people.delete(CONFIG_MAPS, key)

    async def stored(self) -> dict[str, ConfigMap]:
        listed = await self.people.list(ConfigMap, "default")
        return {config_map.metadata.name: config_map for config_map in listed.items}


@asynccontextmanager
async def a_day(seed: int) -> AsyncIterator[Day]:
    day = Day(seed)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(day.server.run()), group.create_task(day.runtime.run())]
        with suppress(AlreadyExists):
            await day.people.create(NAMESPACES, namespace)
        yield day
        for task in tasks:
            task.cancel()
    day.server.close()
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_copies_equal_their_sources_after_faults(
    seed: int,
) -> None:
    async with a_day(seed) as day:
        await day.people_are_busy(250)
        assert day.faults.happened.total() > 20
        day.faults.calm()
        await asyncio.sleep(300)
        stored = await day.stored()
        sources = {name: value.data for name, value in stored.items() if not name.endswith(COPY)}
        copies = {name: value.data for name, value in stored.items() if name.endswith(COPY)}
        assert sources
        assert copies == {name + COPY: data for name, data in sources.items()}
        for name in sources:
            config_map = stored[name]
            assert config_map.metadata.finalizers == [FINALIZER]
            assert config_map.metadata.annotations["copied"] == str(len(config_map.data))
        assert {item.metadata.name for item in day.copier.maps.list("default")} == set(stored)


async def test_an_idle_plane_sends_no_requests() -> None:
    async with a_day(1) as day:
        await day.people_are_busy(50)
        day.faults.calm()
        await asyncio.sleep(300)
        before = day.requests.counts.total()
        await asyncio.sleep(3600)
        assert day.requests.counts.total() - before <= 15


async def test_equal_seeds_give_equal_faults() -> None:
    async def requests() -> list[tuple[tuple[str, int], int]]:
        async with a_day(5) as day:
            await day.people_are_busy(60)
            return sorted(day.requests.counts.items())

    assert await requests() == await requests()


async def test_a_quiet_server_sees_no_needless_request() -> None:
    async with a_day(2) as day:
        day.faults.calm()
        await day.runtime.cache.wait_for_sync()
        labels = {"app": "source"}
        metadata = ObjectMeta(name="a", namespace="default", labels=labels)
        await day.people.create(ConfigMap(metadata=metadata, data={"x": "1"}))
        await asyncio.sleep(60)
        counts = day.requests.counts
        # One for the copy, one for its event; the finalizer, then the annotation.
        assert (counts["POST", 201], counts["PATCH", 200]) == (2, 2)
        assert sum(count for (method, _), count in counts.items() if method == "GET") == 1
