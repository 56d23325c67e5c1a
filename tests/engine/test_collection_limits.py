"""A collection of a workload cluster is read up to a bound, and its server is asked less often."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from kapy.client.client import Client
from kapy.client.stream import Event
from kapy.engine.collection_limits import CollectionLimit, CollectionTooLarge
from kapy.engine.reflector import Reflector
from kapy.engine.store import Store
from kapy.kube.http import Reply, Request
from kapy.kube.names import NODES


def node(number: int, **more: Any) -> Any:
    return {"metadata": {"name": f"n{number}", "resourceVersion": str(number + 1), **more}}


def test_objects_are_counted_once_each() -> None:
    bound = CollectionLimit(objects=2)
    for _ in range(5):
        bound.add(node(1))
    bound.follow(Event("ADDED", node(2)))
    with pytest.raises(CollectionTooLarge, match="more than 2 objects"):
        bound.follow(Event("ADDED", node(3)))
    bound.follow(Event("DELETED", node(3)))
    bound.follow(Event("DELETED", node(2)))
    bound.add(node(4))


def test_bytes_are_those_of_the_newest_states() -> None:
    bound = CollectionLimit(total=1000)
    for size in (800, 10, 800):
        bound.add(node(1, annotations={"a": "x" * size}))
    with pytest.raises(CollectionTooLarge, match="more than 1000 bytes"):
        bound.add(node(2, annotations={"a": "x" * 300}))
    bound.begin()
    bound.add(node(2, annotations={"a": "x" * 300}))


async def _nodes() -> Any:
    number = 0
    while True:
        number += 1
        yield {"type": "ADDED", "object": node(number)}


class Endless:
    """A server with ever more nodes."""

    over_network = True

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(asyncio.get_running_loop().time())
        return Reply(200, _nodes())


async def test_requests_to_a_server_with_too_many_objects_back_off() -> None:
    server, store = Endless(), Store()
    reflector = Reflector(Client(server), NODES, store, random.Random(1))
    reflector.limit = CollectionLimit(objects=100)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reflector.run())
        await asyncio.sleep(300)
        task.cancel()
    assert isinstance(reflector.failure, CollectionTooLarge)
    assert not store.objects
    assert 5 < len(server.asked) < 40
