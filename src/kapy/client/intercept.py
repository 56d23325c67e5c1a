"""What stands between a client and its transport: one base, and a counter of requests."""

from __future__ import annotations

from collections import Counter

from kapy.kube.errors import KapyError
from kapy.kube.http import Reply, Request, Transport


class Interceptor:
    """A transport around another one. It passes everything on until a subclass knows better.

    What a transport says of itself (`over_network`, `host`) stays true of what wraps it, and
    closing the wrapper closes what it wraps.
    """

    __slots__ = ("host", "over_network", "transport")

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.over_network = bool(getattr(transport, "over_network", False))
        self.host = str(getattr(transport, "host", "in-process"))

    async def __call__(self, request: Request) -> Reply:
        return await self.transport(request)

    async def probe(self, request: Request) -> Reply:
        """A GET that only asks whether anybody is there; what is done with other requests here is
        done with it, too, until a subclass lets it pass (`probe_of`)."""
        return await self(request)

    async def aclose(self) -> None:
        """Close the wrapped transport, if it is one that can be."""
        close = getattr(self.transport, "aclose", None)
        if close is not None:
            await close()


def probe_of(transport: Transport) -> Transport:
    """The cheapest way in which a transport asks whether anybody is there."""
    found: Transport = getattr(transport, "probe", transport)
    return found


NO_ANSWER = 0
"""Stands for the status code where no answer came."""


class Counted(Interceptor):
    """Counts requests by HTTP method ("WATCH" for a watch) and status code, in `counts`."""

    __slots__ = ("counts",)

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.counts: Counter[tuple[str, int]] = Counter()

    async def __call__(self, request: Request) -> Reply:
        method = "WATCH" if "watch" in request.query else request.method
        try:
            reply = await self.transport(request)
        except KapyError:
            self.counts[method, NO_ANSWER] += 1
            raise
        self.counts[method, reply.status] += 1
        return reply
