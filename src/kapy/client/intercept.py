"""Wrappers of transports: a base class, and a counter of requests."""

from __future__ import annotations

from collections import Counter

from kapy.kube.errors import KapyError
from kapy.kube.http import Reply, Request, Transport


class Interceptor:
    """A wrapper of a transport. It forwards everything unless a subclass overrides it.

    Attributes of the transport (`over_network`, `host`) are forwarded, and closing the wrapper
    closes the transport.
    """

    __slots__ = ("host", "over_network", "transport")

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.over_network = bool(getattr(transport, "over_network", False))
        self.host = str(getattr(transport, "host", "in-process"))

    async def __call__(self, request: Request) -> Reply:
        return await self.transport(request)

    async def probe(self, request: Request) -> Reply:
        """Send a GET that only checks whether the server is alive.

        It is handled like other requests, unless a subclass forwards it (`probe_of`).
        """
        return await self(request)

    async def aclose(self) -> None:
        """Close the wrapped transport, if it can be closed."""
        close = getattr(self.transport, "aclose", None)
        if close is not None:
            await close()


def probe_of(transport: Transport) -> Transport:
    """Return the cheapest liveness check of a transport."""
    result: Transport = getattr(transport, "probe", transport)
    return result


NO_ANSWER = 0
"""Counted in place of a status code if no answer came."""


class RequestCounter(Interceptor):
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
