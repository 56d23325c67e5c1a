"""Wrappers of a Transport: counting, and a seam for whatever else wants to stand in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from kapy.kube.errors import KapyError
from kapy.kube.http import Reply, Request, Transport

Intercept: TypeAlias = Callable[[Request, Transport], Awaitable[Reply]]
"""Answers a request, usually by asking the transport that it is given."""


class Intercepted:
    """A transport with something in between; closing it closes what it wraps."""

    __slots__ = ("_intercept", "over_network", "transport")

    def __init__(self, transport: Transport, intercept: Intercept) -> None:
        self.transport = transport
        self.over_network = bool(getattr(transport, "over_network", False))
        self._intercept = intercept

    async def __call__(self, request: Request) -> Reply:
        return await self._intercept(request, self.transport)

    async def aclose(self) -> None:
        """Close the wrapped transport, if it is one that can be."""
        close = getattr(self.transport, "aclose", None)
        if close is not None:
            await close()


NO_ANSWER = 0
"""Stands for the status code where no answer came."""


class Counted:
    """A transport that counts its requests.

    counts: by HTTP method ("WATCH" for a watch) and status code. host: of the server, for metrics.
    """

    __slots__ = ("counts", "host", "over_network", "transport")

    def __init__(self, transport: Transport, host: str = "") -> None:
        self.transport = transport
        self.over_network = bool(getattr(transport, "over_network", False))
        self.host = host or str(getattr(transport, "host", "in-process"))
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

    async def aclose(self) -> None:
        """Close the wrapped transport, if it is one that can be."""
        close = getattr(self.transport, "aclose", None)
        if close is not None:
            await close()
