"""The processes of a plane: the share of its own process in the clusters, and its workers."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from kapy._aio.services import Service
from kapy.api.cluster import Cluster
from kapy.apps.workers.configuration import (
    AUTO_CLUSTERS,
    PLANE_SLOT,
    WorkerConfig,
    plane_terms,
    process_count,
    shards_of,
)
from kapy.apps.workers.launching import Launch
from kapy.apps.workers.metrics import merge_metrics
from kapy.apps.workers.pool import PoolSettings, Workers, delete_leases
from kapy.client.client import Client
from kapy.engine.cache import Change, Informer
from kapy.engine.leadership import LostLeadership
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.kube.http import Transport

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from kapy.apiserver.server import Server
    from kapy.apps.controllers import Controllers
    from kapy.apps.settings import Settings

log = logging.getLogger(__name__)


class PlaneProcesses:
    """The processes of one plane.

    api: the API server with the rights of controllers. shards: the share of the plane's own
    process, None if it is the only one. workers: the others, None if there are none.
    """

    def __init__(
        self, api: Transport, runtime: Runtime, settings: Settings, launch: Launch
    ) -> None:
        self.shards: Shards | None = None
        self.workers: Workers | None = None
        self._api = api
        self._runtime = runtime
        self._settings = settings
        self._launch = launch
        self._count = process_count(settings.processes)

    @classmethod
    async def divide(
        cls,
        administrator: Client,
        api: Transport,
        runtime: Runtime,
        settings: Settings,
        launch: Launch,
    ) -> PlaneProcesses:
        """Divide the clusters, if there are several processes: the controllers of the plane's own
        process run for its share. Call it before controllers are added.
        """
        processes = cls(api, runtime, settings, launch)
        if processes._count > 1:
            await delete_leases(administrator)  # those of processes that ended with an earlier run
            processes._take_share()
        return processes

    def _take_share(self) -> None:
        runtime, client = self._runtime, Client(self._api, field_manager="kapy")
        self.shards = shards_of(
            client, plane_terms(), PLANE_SLOT, self._count, runtime.clock, runtime.random
        )
        runtime.leader_gate = partial(_stay_member, self.shards)
        runtime.metrics.add(self.shards)

    def services(self, server: Server, controllers: Controllers) -> dict[str, Service]:
        """Return what runs the workers; their metrics are on the server's page."""
        if self.shards is None:
            return {}
        workers = self.workers = Workers(self._pool_settings(controllers))
        server.metric_sources.append(partial(_with_metrics, workers))
        return {"workers": self._run_workers}

    def _pool_settings(self, controllers: Controllers) -> PoolSettings:
        level, settings = logging.getLogger().getEffectiveLevel(), self._settings
        configurations = [
            WorkerConfig(
                slot=slot,
                processes=self._count,
                controllers=settings.controllers,
                sockets=settings.serving is not None,
                log_level=level,
            )
            for slot in range(1, self._count)
        ]
        return PoolSettings(
            api=self._api,
            leases=Client(self._api, field_manager="kapy"),
            clusters=controllers.in_memory,
            published=controllers.published,
            cluster_cache=controllers.cluster_cache,
            configurations=configurations,
            clock=self._runtime.clock,
            random=self._runtime.random,
            hooks=controllers.calls,
            launch=self._launch,
        )

    async def _run_workers(self) -> None:
        """Run the workers; those of `auto` once there are enough clusters."""
        assert self.workers is not None
        if self._settings.processes == "auto":
            await _wait_for_clusters(self._runtime.cache.informer(Cluster), AUTO_CLUSTERS)
        await self.workers.run()


async def _stay_member(shards: Shards, work: Service) -> None:
    """Work as a member, also after somebody has deleted the Lease."""
    while True:
        try:
            await shards.run_as_member(work)
        except LostLeadership as lost:
            log.warning("%s; the plane takes it again", lost)


async def _wait_for_clusters(clusters: Informer[Cluster], number: int) -> None:
    enough = asyncio.Event()

    def count(change: Change) -> None:
        del change
        if len(clusters.keys()) >= number:
            enough.set()

    unsubscribe = clusters.subscribe(count)
    await enough.wait()
    unsubscribe()


async def _with_metrics(workers: Workers, families: list[Metric]) -> list[Metric]:
    return await merge_metrics(families, workers.channels)
