"""A process that ends between two requests: what it asked before was done, or its answer lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.kube.http import Reply, Request, Transport


class Killed(Exception):
    """The process is gone."""


@dataclass
class Life:
    """Requests until the end, counted over all clusters. None: for ever.

    acted_on: the last one is. last: whether a request is the last one, whatever its number.
    """

    requests: int | None = None
    acted_on: bool = False
    last: Callable[[Request], bool] | None = None
    used: int = 0

    def client(self, client: Client) -> Client:
        """The client, as long as this life lasts."""
        return Client(Mortal(client.transport, self), field_manager="kapy")

    @property
    def over(self) -> bool:
        return self.requests is not None and self.used > self.requests


class Mortal(Interceptor):
    """A transport that ends with its process."""

    __slots__ = ("_life",)

    def __init__(self, transport: Transport, life: Life) -> None:
        super().__init__(transport)
        self._life = life

    async def __call__(self, request: Request) -> Reply:
        life = self._life
        was_over = life.over
        if life.last is not None and life.last(request) and not was_over:
            life.requests = life.used
        life.used += 1
        if life.over and (was_over or not life.acted_on):
            raise Killed
        reply = await self.transport(request)
        if life.over:
            raise Killed
        return reply
