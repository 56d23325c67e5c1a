"""What every controller is given, and what keeps all of them running."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.engine.cache import Cache
from kapy.engine.controller import Controller
from kapy.engine.events import Recorder
from kapy.kube.http import Transport


@dataclass
class Runtime:
    """One program's client, cache, events, clock and controllers.

    The client writes through the cache: what a controller wrote, it reads back at once.
    """

    client: Client
    cache: Cache
    events: Recorder
    clock: Clock
    controllers: list[Controller] = field(default_factory=list)

    @classmethod
    def on(cls, transport: Transport, *, clock: Clock, field_manager: str = "kapy") -> Runtime:
        """A runtime on one API server."""
        raise NotImplementedError

    def add(self, controller: Controller) -> Controller:
        """Run this controller too."""
        self.controllers.append(controller)
        return controller

    async def run(self) -> None:
        """Start the cache, wait for it, then run all controllers; until cancelled.

        No task is left when this returns.
        """
