"""A world in which a provider is judged: what happens to its objects is followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from kapy._aio.services import running
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.testing.conformance.clearing import cleared
from kapy.testing.conformance.errors import CannotRun, ConformanceError
from kapy.testing.conformance.ground import Ground, embedded
from kapy.testing.conformance.pool_machines import PoolMachines
from kapy.testing.conformance.scene import World
from kapy.testing.conformance.seen import Seen
from kapy.testing.conformance.session import Session
from kapy.testing.conformance.subject import Patience, Subject

_FOLLOWED: Final = (Cluster.RESOURCE, Machine.RESOURCE, MachinePool.RESOURCE)


@asynccontextmanager
async def watched(
    ground: Ground, subject: Subject, patience: Patience, session: Session
) -> AsyncIterator[World]:
    """What happens to a provider's objects is followed meanwhile; in the end they are deleted.

    Raises ConformanceError where the kinds cannot be watched.
    """
    seen = Seen(ground.client, None if ground.embedded else ground.ledger)
    machines = [one.resource for one in subject.of("infra-machine")]
    pools = PoolMachines(ground.client, seen, machines)
    another = partial(_another, ground, subject, patience, session)
    world = World(ground, subject, seen, patience, another)
    async with running(seen=seen.run, pools=pools.run):
        await _follow(world)
        async with cleared(world, session):
            yield world


async def _follow(world: World) -> None:
    """Begin to watch. Raises ConformanceError."""
    for resource in (*_FOLLOWED, *(one.resource for one in world.subject.kinds)):
        try:
            async with asyncio.timeout(world.patience.within):
                await world.seen.follow(resource)
        except TimeoutError:
            raise ConformanceError(
                f"{resource.group_resource} cannot be watched in {resource.version} on this "
                "management cluster: install the CRDs of Cluster API and of the release there, "
                "and let the kubeconfig's user list them"
            ) from None


@asynccontextmanager
async def _another(
    ground: Ground, subject: Subject, patience: Patience, session: Session
) -> AsyncIterator[World]:
    """An API server of our own beside the first. Raises CannotRun where that is somebody else's."""
    if not ground.embedded:
        raise CannotRun("it takes two management clusters of our own")
    async with (
        embedded(subject, clock=ground.clock, light=ground.light) as other,
        watched(other, subject, patience, session) as world,
    ):
        yield world
