"""A world in which a provider is judged: what happens to its objects is followed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from kapy._aio.services import running
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.ground import Ground, embedded
from kapy.testing.conformance.pool_machines import PoolMachines
from kapy.testing.conformance.scene import World
from kapy.testing.conformance.seen import Seen
from kapy.testing.conformance.subject import Patience, Subject

_FOLLOWED: Final = (Cluster.RESOURCE, Machine.RESOURCE, MachinePool.RESOURCE)


@asynccontextmanager
async def watched(ground: Ground, subject: Subject, patience: Patience) -> AsyncIterator[World]:
    """What happens to a provider's objects is followed meanwhile."""
    seen = Seen(ground.client, None if ground.embedded else ground.ledger)
    machines = [one.resource for one in subject.of("infra-machine")]
    pools = PoolMachines(ground.client, seen, machines)
    async with running(seen=seen.run, pools=pools.run):
        for resource in (*_FOLLOWED, *(one.resource for one in subject.kinds)):
            await seen.follow(resource)
        yield World(ground, subject, seen, patience, partial(_another, ground, subject, patience))


@asynccontextmanager
async def _another(ground: Ground, subject: Subject, patience: Patience) -> AsyncIterator[World]:
    """An API server of our own beside the first. Raises CannotRun where that is somebody else's."""
    if not ground.embedded:
        raise CannotRun("it takes two management clusters of our own")
    async with (
        embedded(subject, clock=ground.clock, light=ground.light) as other,
        watched(other, subject, patience) as world,
    ):
        yield world
