"""The memory of an object in the cache of a program that is far from its server."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any, Final

from msgspec import json

from benchmarks.fleet import Fleet, Shape, fleet, names
from benchmarks.measure import resident
from kapy.api.names import Label
from kapy.client.stream import Event
from kapy.engine.store import Store
from kapy.engine.transform import transform_of
from kapy.kube import Document
from kapy.kube.names import CRDS, SECRETS, Resource

Row = dict[str, Any]
CLUSTERS: Final = 200
SETTLING: Final = 10.0  # seconds, because no event tells that all work is done


async def cached() -> list[Row]:
    """The objects of a cluster of 1+3 as they come over a network, so many clusters, in a cache."""
    async with fleet() as herd:
        (name,) = entries = names(1)
        await herd.create(Shape(workers=3), entries)
        await asyncio.sleep(SETTLING)
        lines = [line async for line in _lines(herd)]
    objects = len(lines) * CLUSTERS
    size = sum(len(line) for _, line in lines) * CLUSTERS
    rows = []
    stores = []
    for step, trims in (("as sent", False), ("as kept", True)):
        before = _memory()
        stores.append(_filled(lines, name.encode(), trims=trims))
        grown = _memory() - before
        rows.append(
            {
                "step": step,
                "objects": objects,
                "json_bytes_per_object": size // objects,
                "bytes_per_object": grown // objects,
                "kib_per_cluster": round(grown / CLUSTERS / 1024, 1),
            }
        )
    return rows


async def _lines(herd: Fleet) -> AsyncIterator[tuple[Resource, bytes]]:
    """Every object that core's manager caches, as a watch tells it."""
    cache, client = herd.plane.runtime.cache, herd.plane.client
    for resource in list(cache._stores):
        if resource == CRDS:
            continue
        labels = Label.CLUSTER_NAME if resource == SECRETS else ""
        for document in (await client.list(resource, labels=labels)).items:
            yield resource, json.encode({"type": "ADDED", "object": document})


def _filled(lines: list[tuple[Resource, bytes]], name: bytes, *, trims: bool) -> list[Store]:
    stores: dict[Resource, Store] = {}
    for number in range(CLUSTERS):
        own = b"%s%05d" % (name[:-4], number)
        for resource, line in lines:
            store = stores.get(resource)
            if store is None:
                store = stores[resource] = Store()
            event: Document = json.decode(line.replace(name, own))
            event["object"]["metadata"]["uid"] += str(number)
            document = event["object"]
            if trims:
                document = transform_of(resource, metadata=False)(document)
            store.take(Event("ADDED", document))
            store.progress = 0
    return list(stores.values())


def _memory() -> int:
    gc.collect()
    return resident()
