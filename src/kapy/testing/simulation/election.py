"""Leader election between two processes of each manager, as kapy's managers have it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.engine.leadership import Fenced, LeaderElectionConfig, LeaderElector
from kapy.kube import Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.testing.simulation.network import LATENCY, Network, Process, loop_time

NAMESPACE: Final = "default"


class LeaseNetwork(Interceptor):
    """The way of one process to its Lease, on a connection of its own. Its requests are no points:
    there is one every two seconds."""

    __slots__ = ("_process", "_shared")

    def __init__(self, transport: Transport, process: Process, shared: Network) -> None:
        super().__init__(transport)
        self._process = process
        self._shared = shared

    async def __call__(self, request: Request) -> Reply:
        process, name = self._process, f"{self._process.manager}/lease"
        await asyncio.sleep(self._shared.latency(name, LATENCY))
        await asyncio.sleep(max(0.0, process.stopped_until - loop_time()))
        if not process.is_alive or loop_time() < process.lease_down_until:
            raise Unreachable("the request was lost")
        return await self.transport(request)


class Watched(Fenced):
    """A transport that passes writes only while the process leads, and tells of each of them."""

    __slots__ = ("_before",)

    def __init__(
        self, transport: Transport, elector: LeaderElector, before: Callable[[], None]
    ) -> None:
        super().__init__(transport, elector)
        self._before = before

    async def __call__(self, request: Request) -> Reply:
        self._before()
        return await super().__call__(request)


def elector_of(
    process: Process,
    number: int,
    transport: Transport,
    shared: Network,
    clock: Clock,
    random: Random,
) -> LeaderElector:
    """Return the leader election of a process."""
    client = Client(LeaseNetwork(transport, process, shared), field_manager=process.manager)
    lease = Key(NAMESPACE, f"{process.manager}-leader")
    terms = LeaderElectionConfig(lease=lease, identity=f"{process.manager}-{number}")
    return LeaderElector(client, terms, clock, random)
