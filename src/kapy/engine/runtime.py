"""What every controller is given, and what keeps all of them running."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random

from kapy._aio.clock import Clock
from kapy._aio.services import run_together
from kapy.client.client import Client
from kapy.client.intercept import Counted
from kapy.engine.cache import Cache
from kapy.engine.controller import Controller
from kapy.engine.events import Journal, Recorder
from kapy.engine.metrics import Metrics
from kapy.kube.http import Transport


@dataclass
class Runtime:
    """One program's client, cache, events, clock and controllers.

    The client writes through the cache: what a controller wrote, it reads back at once.
    metrics: what it can be scraped for. working: set while the controllers do. random: where all
    jitter of this program comes from; a seeded one makes a run repeatable.
    """

    client: Client
    cache: Cache
    events: Recorder
    clock: Clock
    controllers: list[Controller] = field(default_factory=list)
    random: Random = field(default_factory=Random)
    metrics: Metrics = field(default_factory=Metrics)
    working: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def on(
        cls,
        transport: Transport,
        *,
        clock: Clock,
        field_manager: str = "kapy",
        random: Random | None = None,
    ) -> Runtime:
        """A runtime on one API server."""
        random = random or Random()
        transport = Counted(transport)
        client = Client(transport, field_manager=field_manager)
        cache = Cache(client, random=random)
        client.observe = cache.observe
        # Events are written past the cache: nobody reads them back.
        journal = Journal(Client(transport, field_manager=field_manager), clock, random)
        events = Recorder(journal, field_manager)
        metrics = Metrics(transport)
        return cls(client, cache, events, clock, random=random, metrics=metrics)

    def add(self, controller: Controller) -> Controller:
        """Run this controller too (before `run`)."""
        controller.random = self.random
        self.controllers.append(controller)
        self.metrics.measure(controller)
        return controller

    async def run(self) -> None:
        """Start the cache, wait for it, then run all controllers; until cancelled.

        No task is left when this returns.
        """
        await run_together(
            cache=self.cache.run, events=self.events.run, controllers=self._run_controllers
        )

    async def _run_controllers(self) -> None:
        await self.cache.synced()
        self.working.set()
        if not self.controllers:
            await asyncio.get_running_loop().create_future()
        # A controller may have the name of another one: the number keeps both.
        await run_together(
            **{
                f"{controller.name} #{number}": controller.run
                for number, controller in enumerate(self.controllers)
            }
        )
