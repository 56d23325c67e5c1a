"""The runtime of a program: what its controllers share, and what runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kapy._aio.clock import Clock
from kapy._aio.services import Service, run_together
from kapy._aio.tracing import is_on
from kapy.client.client import Client, over_network
from kapy.client.intercept import RequestCounter
from kapy.client.server_clock import ServerClock
from kapy.client.server_version import ANY, MinimumVersion
from kapy.client.tracing import with_tracing
from kapy.engine.availability import ServerAvailabilityGate
from kapy.engine.cache import Cache, Informer
from kapy.engine.controller import Controller
from kapy.engine.events import EventWriter, Recorder
from kapy.engine.idle_packing import Part
from kapy.engine.metrics import Metrics
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.private_keys import PrivateKeyPool
from kapy.engine.reconcile_log import log_write
from kapy.engine.shards import Shards
from kapy.engine.worker_slots import TurnLimit
from kapy.kube.http import Transport
from kapy.kube.names import Resource
from kapy.kube.renamed import RenamedMember

if TYPE_CHECKING:
    from kapy.engine.traces import ClusterTraces

LeaderGate = Callable[[Service], Awaitable[None]]
"""Runs the controllers, when and for as long as it is their program's turn."""


async def _run_immediately(work: Service) -> None:
    await work()


SYNC_STEPS: Final = 60
"""Parts of a sync period; in each, one object in so many is looked at."""


@dataclass
class Runtime:
    """One program's client, cache, events, clock and controllers.

    The client writes through the cache, so that a controller reads its own writes at once. options:
    which objects controllers reconcile, and how. clock: tells the time by the API server's clock,
    as ages begin at times that the server wrote. metrics: the exported metrics. writes: verbs by
    resources that controllers write besides the objects that they reconcile, for RBAC rules.
    working: set while controllers run. private_keys: the pool of new private keys. random: the
    source of all jitter; a seeded one makes a run repeatable. leader_gate: decides which of several
    replicas runs its controllers; the others keep their caches filled. shards: divides clusters
    among replicas; None if this program works on all. packing: what may be packed while nobody
    reads it, in programs that run for long (`kapy.engine.idle_packing`). turns: limits what begins
    in one turn of the event loop.
    """

    client: Client
    cache: Cache
    events: Recorder
    clock: Clock
    options: ManagerOptions = DEFAULT_OPTIONS
    controllers: list[Controller] = field(default_factory=list)
    private_keys: PrivateKeyPool = field(default_factory=PrivateKeyPool)
    random: Random = field(default_factory=Random)
    metrics: Metrics = field(default_factory=Metrics)
    working: asyncio.Event = field(default_factory=asyncio.Event)
    reconciled: list[tuple[Controller, Informer[Any]]] = field(default_factory=list)
    writes: dict[Resource, set[str]] = field(default_factory=dict)
    leader_gate: LeaderGate = _run_immediately
    shards: Shards | None = None
    _cluster_traces: ClusterTraces | None = None
    availability: ServerAvailabilityGate | None = None
    _server_clock: ServerClock | None = None
    packing: list[Part] = field(default_factory=list)
    turns: TurnLimit = field(default_factory=TurnLimit)

    keys = RenamedMember("private_keys")
    grant = RenamedMember("declare_write")

    @classmethod
    def on(
        cls,
        transport: Transport,
        *,
        clock: Clock,
        field_manager: str = "kapy",
        random: Random | None = None,
        options: ManagerOptions = DEFAULT_OPTIONS,
        needed: MinimumVersion = ANY,
    ) -> Runtime:
        """Return a runtime for one API server.

        needed: the oldest allowed Kubernetes version of a server over the network. clock: the clock
        of this machine, from which the runtime derives the time of the server.
        """
        random = random or Random()
        transport = server_clock = ServerClock(transport, clock)
        clock = server_clock.now
        reach = None
        if over_network(transport):
            transport = reach = ServerAvailabilityGate(transport, random, needed)
        counted = RequestCounter(transport)
        transport = with_tracing(counted)
        client = Client(transport, field_manager=field_manager)
        cache = Cache(client, random=random, namespace=options.namespace)
        client.observe, client.newest = cache.observe, cache.newest
        client.history, client.log_write = cache, log_write
        # Events are not written through the cache, because no controller reads them.
        journal = EventWriter(Client(transport, field_manager=field_manager), clock, random)
        events = Recorder(journal, field_manager)
        metrics = Metrics(counted)
        packing: list[Part] = [cache.pack_idle]
        return cls(
            client,
            cache,
            events,
            clock,
            options,
            random=random,
            metrics=metrics,
            availability=reach,
            _server_clock=server_clock,
            packing=packing,
        )

    def add(self, controller: Controller, of: Informer[Any] | None = None) -> Controller:
        """Add a controller that `run` runs (call this before `run`). of: the objects that the
        controller reconciles.
        """
        self.adopt(controller, of)
        self.controllers.append(controller)
        return controller

    @contextmanager
    def divided(self, shards: Shards | None) -> Iterator[None]:
        """Let the controllers that are added in this context work on the clusters of these shards
        only (None: on all).
        """
        before, self.shards = self.shards, shards
        try:
            yield
        finally:
            self.shards = before

    def declare_write(self, resource: Resource, *verbs: str) -> None:
        """Declare that this program writes objects of a resource."""
        self.writes.setdefault(resource, set()).update(verbs)

    def adopt(self, controller: Controller, of: Informer[Any] | None = None) -> None:
        """Configure a controller by the options and export its metrics; the caller runs it.

        A controller without objects runs in each of several replicas.
        """
        controller.random = self.random
        controller.turns = self.turns
        controller.concurrency = self.options.concurrency.get(
            controller.name, controller.concurrency
        )
        if of is not None:
            self.reconciled.append((controller, of))
            if self.options.watch_filter:
                controller.add_predicate(of, self.options.selects)
            if self.shards is not None:
                self.shards.share(controller, of)
        self.metrics.measure(controller)
        if is_on():
            self._trace(controller, of)

    def _trace(self, controller: Controller, of: Informer[Any] | None) -> None:
        from kapy.engine.traces import (  # most programs are not asked for spans
            ClusterTraces,
            with_span,
        )

        self._cluster_traces = self._cluster_traces or ClusterTraces(self.cache)
        controller.wrap_reconcile(
            partial(with_span, controller.name, of=of, creations=self._cluster_traces)
        )

    async def run(self) -> None:
        """Start the cache, wait for it, then run all controllers; until cancelled.

        No task is left when this returns.
        """
        try:
            await run_together(
                cache=self.cache.run,
                events=self.events.run,
                keys=self.private_keys.run,
                controllers=self._work,
            )
        finally:
            if self._server_clock is not None:
                await self._server_clock.stop()

    async def _work(self) -> None:
        await self.cache.wait_for_sync()
        await self.leader_gate(self._run_controllers)

    async def _run_controllers(self) -> None:
        self.working.set()
        try:
            # Two controllers may have the same name: the number distinguishes them.
            await run_together(
                sync=self._sync,
                **{
                    f"{controller.name} #{number}": controller.run
                    for number, controller in enumerate(self.controllers)
                },
            )
        finally:
            self.working.clear()

    async def _sync(self) -> None:
        """Enqueue every object once per sync period with low priority, spread over the period.

        It uses a timer because it is a safety net for missed events, not a way to notice changes.
        """
        period = self.options.sync_period
        if period is None:
            await asyncio.get_running_loop().create_future()
            return
        while True:
            for number in range(SYNC_STEPS):
                await asyncio.sleep(period.total_seconds() / SYNC_STEPS)
                for controller, of in self.reconciled:
                    for key in of.keys()[number::SYNC_STEPS]:
                        controller.resync(key)
