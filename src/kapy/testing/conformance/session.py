"""Open a session, which watches a provider's objects while checks run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from kapy._aio.services import run_services
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.testing.conformance.cleanup import cleanup_on_exit
from kapy.testing.conformance.embedded import embedded
from kapy.testing.conformance.environment import Environment
from kapy.testing.conformance.errors import CannotRun, ConformanceError
from kapy.testing.conformance.fixture import Session
from kapy.testing.conformance.pool_machines import PoolMachines
from kapy.testing.conformance.provider_under_test import ProviderUnderTest, Timeouts
from kapy.testing.conformance.run_context import RunContext
from kapy.testing.conformance.watch_log import WatchLog

_FOLLOWED: Final = (Cluster.RESOURCE, Machine.RESOURCE, MachinePool.RESOURCE)


@asynccontextmanager
async def open_session(
    environment: Environment, provider: ProviderUnderTest, timeouts: Timeouts, context: RunContext
) -> AsyncIterator[Session]:
    """Watch the provider's objects while the context is open, and delete them at its end.

    Raises ConformanceError if the kinds cannot be watched.
    """
    watch_log = WatchLog(
        environment.client, None if environment.embedded else environment.write_log
    )
    machines = [kind.resource for kind in provider.kinds_of_role("infra-machine")]
    pools = PoolMachines(environment.client, watch_log, machines)
    another = partial(_second_session, environment, provider, timeouts, context)
    session = Session(environment, provider, watch_log, timeouts, another)
    async with run_services(seen=watch_log.run, pools=pools.run):
        await _watch_kinds(session)
        async with cleanup_on_exit(session, context):
            yield session


async def _watch_kinds(session: Session) -> None:
    """Start watching the kinds. Raises ConformanceError."""
    for resource in (*_FOLLOWED, *(kind.resource for kind in session.provider.kinds)):
        try:
            async with asyncio.timeout(session.timeouts.within):
                await session.watch_log.watch(resource)
        except TimeoutError:
            raise ConformanceError(
                f"{resource.group_resource} cannot be watched in {resource.version} on this "
                "management cluster: install the CRDs of Cluster API and of the release there, "
                "and let the kubeconfig's user list them"
            ) from None


@asynccontextmanager
async def _second_session(
    environment: Environment, provider: ProviderUnderTest, timeouts: Timeouts, context: RunContext
) -> AsyncIterator[Session]:
    """Open a session on a second embedded API server. Raises CannotRun if the first one is
    remote.
    """
    if not environment.embedded:
        raise CannotRun("it takes two management clusters of our own")
    async with (
        embedded(provider, clock=environment.clock, light=environment.light) as other,
        open_session(other, provider, timeouts, context) as session,
    ):
        yield session
