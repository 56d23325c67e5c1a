"""The worker processes of a plane: started, watched, and started again when they die.

A worker that has ended can write nothing any more, because its requests come over a connection that
has ended, too. So once those under way are answered, its Lease is released at once, and the other
processes have its clusters while it starts again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kapy._aio.clock import Clock
from kapy._aio.services import run_together
from kapy.apps.pidfile import WorkerRecord
from kapy.apps.workers.channel import LOG, PROBE, PUBLISHED, READY, SERVER, Channel
from kapy.apps.workers.configuration import LEASE, WorkerConfig, encode
from kapy.apps.workers.launching import Launch, Launched, launch_process
from kapy.apps.workers.logs import write_log
from kapy.apps.workers.requests import WorkerRequests
from kapy.client.client import Client
from kapy.engine.leases import released_lease
from kapy.engine.reflector import Backoff
from kapy.engine.shards import LABEL, slot_name
from kapy.kube import Key
from kapy.kube.errors import ApiError
from kapy.kube.http import Transport
from kapy.kube.names import LEASES
from kapy.providers.docker.published import PublishedAddresses
from kapy.providers.inmemory import InMemoryClusters
from kapy.remote.cluster_cache import ClusterCache

if TYPE_CHECKING:
    from kapy.hooks.transport import HookTransport

FIRST_BACKOFF: Final = 0.5
MAX_BACKOFF: Final = 30.0
"""Seconds before a worker that died is started again, at first and at last."""
STABLE_AFTER: Final = 60.0
"""Seconds after which a worker has worked: the next pause is short again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """The settings that the workers of a plane share.

    api: sends requests to the API server with the rights of controllers. leases: a client that may
    write Leases. clusters, published, cluster_cache: the ways in which the plane reaches workload
    clusters. configurations: one configuration for each worker. hooks: calls runtime extensions,
    None if they are not called. launch: starts a worker.
    """

    api: Transport
    leases: Client
    clusters: InMemoryClusters
    published: PublishedAddresses
    cluster_cache: ClusterCache
    configurations: Sequence[WorkerConfig]
    clock: Clock
    random: Random
    hooks: HookTransport | None = None
    launch: Launch = launch_process


class Workers:
    """All worker processes of a plane. changed: callbacks for a change of the record of a
    worker.
    """

    def __init__(self, settings: PoolSettings) -> None:
        self._workers = [
            _Worker(config, settings, self._report) for config in settings.configurations
        ]
        self.changed: list[Callable[[], None]] = []

    @property
    def records(self) -> tuple[WorkerRecord, ...]:
        """The state of each worker."""
        return tuple(worker.record for worker in self._workers)

    @property
    def channels(self) -> Sequence[tuple[str, Channel]]:
        """The workers that run, by name."""
        return [(worker.record.name, worker.channel) for worker in self._workers if worker.channel]

    async def run(self) -> None:
        """Run the workers until cancelled; then they end."""
        await run_together(**{worker.record.name: worker.run for worker in self._workers})

    def _report(self) -> None:
        for item in tuple(self.changed):
            item()


class _Worker:
    """A worker process of a plane, which is started again when it ends. channel: the connection to
    the process, None while it does not run.
    """

    def __init__(
        self, config: WorkerConfig, settings: PoolSettings, report: Callable[[], None]
    ) -> None:
        self.record = WorkerRecord(config.name)
        self.channel: Channel | None = None
        self._config = config
        self._settings = settings
        self._report = report
        self._backoff = Backoff(settings.random, first=FIRST_BACKOFF, longest=MAX_BACKOFF)

    async def run(self) -> None:
        """Start the process, and again whenever it has ended."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            reason = await self._run_process()
            if loop.time() - began > STABLE_AFTER:
                self._backoff.reset()
            seconds = self._backoff.next()
            name = self.record.name
            log.error("%s %s; the other processes have its clusters", name, reason)
            log.error("%s starts again in %.1f s", name, seconds)
            self._change(restarts=self.record.restarts + 1)
            # A timer: what makes a process die is nothing that can be watched.
            await asyncio.sleep(seconds)

    async def _run_process(self) -> str:
        """Run the process until it ends; return how."""
        requests = WorkerRequests(
            self._settings.api,
            self._settings.clusters,
            lambda: encode(self._config),
            self._take_notice,
            self._settings.hooks,
        )
        channel = Channel(requests.answer, requests.take_notice)
        try:
            launched = await self._settings.launch(channel)
        except OSError as error:
            return f"cannot be started: {error.strerror or error}"
        self.channel = channel
        self._change(state="starting")
        try:
            code, was_ready = await self._wait_for_end(launched, channel)
        finally:
            self.channel = None
            self._change(state="stopped", pid=0)
            await launched.stop()
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return ended if was_ready else f"{ended} before it was ready, and says why above"

    async def _wait_for_end(self, launched: Launched, channel: Channel) -> tuple[int, bool]:
        """Wait for the end of a process; return its exit code, and whether it was ready."""
        forget = self._send_addresses(channel)
        try:
            code = await launched.wait()
        finally:
            for item in forget:
                item()
            channel.end()
        was_ready = self.record.state == "running"
        await channel.finish()
        await self._release_lease()
        return code, was_ready

    def _send_addresses(self, channel: Channel) -> Sequence[Callable[[], None]]:
        """Send the worker the addresses of workload clusters, and their later changes; return
        functions that end the subscriptions.
        """
        settings = self._settings
        return (
            settings.clusters.subscribe_servers(
                lambda url, *, exists: channel.notify(SERVER, [url, exists])
            ),
            settings.published.subscribe(
                lambda address, published: channel.notify(PUBLISHED, [address, published])
            ),
            settings.cluster_cache.subscribe_triggers(
                lambda cluster: channel.notify(PROBE, [cluster.namespace, cluster.name])
            ),
        )

    def _take_notice(self, name: str, value: Any) -> None:
        if name == READY:
            self._change(state="running", pid=value)
            log.info("%s runs (process %d)", self.record.name, value)
        elif name == LOG:
            write_log(self.record.name, value)

    async def _release_lease(self) -> None:
        """Release the Lease of the process that has ended: nobody need wait for it."""
        key = Key(LEASE.namespace, slot_name(LEASE, self._config.slot))
        with suppress(ApiError):  # it has none; or somebody changed it, and then it expires
            lease = await self._settings.leases.get(LEASES, key)
            free = released_lease(lease, self._settings.clock())
            await self._settings.leases.update(LEASES, free)

    def _change(self, **changes: Any) -> None:
        self.record = replace(self.record, **changes)
        self._report()


async def delete_leases(leases: Client) -> None:
    """Delete the Leases of an earlier run of the plane: its processes ended with it."""
    listed = await leases.list(LEASES, LEASE.namespace, labels=f"{LABEL}={LEASE.name}")
    for lease in listed.items:
        await leases.delete(LEASES, Key.of(lease))
