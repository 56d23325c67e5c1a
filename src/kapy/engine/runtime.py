"""What every controller is given, and what keeps all of them running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kapy._aio.clock import Clock
from kapy._aio.services import Service, run_together
from kapy._aio.tracing import is_on
from kapy.client.client import Client, over_network
from kapy.client.intercept import Counted
from kapy.client.server_version import ANY, Needed
from kapy.client.traced import traced
from kapy.engine.cache import Cache, Informer
from kapy.engine.controller import Controller
from kapy.engine.events import Journal, Recorder
from kapy.engine.keys import Keys
from kapy.engine.metrics import Metrics
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.reach import Reach
from kapy.engine.shards import Shards
from kapy.kube.http import Transport
from kapy.kube.names import Resource

if TYPE_CHECKING:
    from kapy.engine.traces import Creations

Turn = Callable[[Service], Awaitable[None]]
"""Runs the controllers, when and for as long as it is their program's turn."""


async def _at_once(work: Service) -> None:
    await work()


SYNC_STEPS: Final = 60
"""Parts of a sync period; in each, one object in so many is looked at."""


@dataclass
class Runtime:
    """One program's client, cache, events, clock and controllers.

    The client writes through the cache: what a controller wrote, it reads back at once.
    options: which objects its controllers look at, and how. metrics: what it can be scraped for.
    writes: verbs by what controllers write besides the objects that they reconcile, for whoever
    grants it to them. working: set while the controllers do. keys: where new private keys come
    from. random: where all jitter of this program comes from; a seeded one makes a run repeatable.
    turn: of several programs, which one works; the others keep their caches filled. shards: of
    several programs, which one works on what; None where this one works on everything.
    """

    client: Client
    cache: Cache
    events: Recorder
    clock: Clock
    options: ManagerOptions = DEFAULT_OPTIONS
    controllers: list[Controller] = field(default_factory=list)
    keys: Keys = field(default_factory=Keys)
    random: Random = field(default_factory=Random)
    metrics: Metrics = field(default_factory=Metrics)
    working: asyncio.Event = field(default_factory=asyncio.Event)
    reconciled: list[tuple[Controller, Informer[Any]]] = field(default_factory=list)
    writes: dict[Resource, set[str]] = field(default_factory=dict)
    turn: Turn = _at_once
    shards: Shards | None = None
    _creations: Creations | None = None
    reach: Reach | None = None

    @classmethod
    def on(
        cls,
        transport: Transport,
        *,
        clock: Clock,
        field_manager: str = "kapy",
        random: Random | None = None,
        options: ManagerOptions = DEFAULT_OPTIONS,
        needed: Needed = ANY,
    ) -> Runtime:
        """A runtime on one API server. needed: how old that may be, where a network leads to it."""
        random = random or Random()
        reach = None
        if over_network(transport):
            transport = reach = Reach(transport, random, needed)
        counted = Counted(transport)
        transport = traced(counted)
        client = Client(transport, field_manager=field_manager)
        cache = Cache(client, random=random, namespace=options.namespace)
        client.observe, client.newest = cache.observe, cache.newest
        # Events are written past the cache: nobody reads them back.
        journal = Journal(Client(transport, field_manager=field_manager), clock, random)
        events = Recorder(journal, field_manager)
        metrics = Metrics(counted)
        return cls(
            client, cache, events, clock, options, random=random, metrics=metrics, reach=reach
        )

    def add(self, controller: Controller, of: Informer[Any] | None = None) -> Controller:
        """Run this controller too (before `run`); of: the objects that it reconciles."""
        self.adopt(controller, of)
        self.controllers.append(controller)
        return controller

    def grant(self, resource: Resource, *verbs: str) -> None:
        """Say that something of this program writes these objects."""
        self.writes.setdefault(resource, set()).update(verbs)

    def adopt(self, controller: Controller, of: Informer[Any] | None = None) -> None:
        """Hold a controller to the options and show what it does; somebody else runs it.

        One of no objects works in each of several programs.
        """
        controller.random = self.random
        controller.concurrency = self.options.concurrency.get(
            controller.name, controller.concurrency
        )
        if of is not None:
            self.reconciled.append((controller, of))
            if self.options.watch_filter:
                controller.limit(of, self.options.selects)
            if self.shards is not None:
                self.shards.share(controller, of)
        self.metrics.measure(controller)
        if is_on():
            self._trace(controller, of)

    def _trace(self, controller: Controller, of: Informer[Any] | None) -> None:
        from kapy.engine.traces import Creations, told  # most programs are not asked for spans

        self._creations = self._creations or Creations(self.cache)
        controller.surround(partial(told, controller.name, of=of, creations=self._creations))

    async def run(self) -> None:
        """Start the cache, wait for it, then run all controllers; until cancelled.

        No task is left when this returns.
        """
        await run_together(
            cache=self.cache.run,
            events=self.events.run,
            keys=self.keys.run,
            controllers=self._work,
        )

    async def _work(self) -> None:
        await self.cache.synced()
        await self.turn(self._run_controllers)

    async def _run_controllers(self) -> None:
        self.working.set()
        try:
            # A controller may have the name of another one: the number keeps both.
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
        """Look at everything once in a period, behind all that is news; spread over the period.

        A timer, because it is there for what no watch told: a safety net, not a way to notice.
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
