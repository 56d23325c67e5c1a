"""A cluster is made, upgraded and deleted while everything is packed once a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.apps.all_in_one import ManagementPlane
from kapy.conditions import is_true
from kapy.engine.idle_packing import pack_idle_objects
from kapy.kube import Key
from kapy.testing.story import Story
from tests.stories.plane import own_kinds, running
from tests.stories.test_upgrades import CLASS, NEW, is_reconciled, machines, upgrade


@asynccontextmanager
async def packing() -> AsyncIterator[tuple[ManagementPlane, Story]]:
    async with running() as plane, asyncio.TaskGroup() as group:
        parts = plane.server.store.pack_idle, *plane.runtime.packing
        task = group.create_task(pack_idle_objects(*parts, interval=1.0))
        yield plane, Story(plane.client, own_kinds())
        task.cancel()


async def test_a_cluster_lives_while_its_objects_are_packed_again_and_again() -> None:
    async with packing() as (plane, story):
        await story.create(CLASS)
        await story.until(
            Cluster, "herd", lambda cluster: is_true(cluster.status.conditions, "Available")
        )
        await asyncio.sleep(10)
        objects = plane.server.store.table("machines.cluster.x-k8s.io").namespaces["default"]
        assert len(objects) == 3
        assert not any(stored.document for stored in objects.values())
        await upgrade(story, NEW)
        await is_reconciled(story)
        await asyncio.sleep(60)
        assert await machines(story) == [("", NEW), ("east", NEW), ("west", NEW)]
        await story.client.delete(Cluster, Key("default", "herd"))
        await story.until_gone(Cluster, "herd")
        assert await story.all(Machine) == []
