"""Providers that die after some write, and injected faults of their server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from kapy._aio.services import run_services
from kapy.client.intercept import Interceptor
from kapy.engine.runtime import Runtime
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.testing.provider_bench import ProviderBench


class Mortal(Interceptor):
    """After so many writes nothing is answered any more, and nothing is done; of the last write
    the answer is lost."""

    __slots__ = ("left",)

    def __init__(self, transport: Transport, writes: int) -> None:
        super().__init__(transport)
        self.left = writes

    async def __call__(self, request: Request) -> Reply:
        if self.left <= 0:
            raise Unreachable("the process is gone")
        if request.method != "GET" and "/events" not in request.path:
            self.left -= 1
        reply = await self.transport(request)
        if self.left <= 0:
            raise Unreachable("the process is gone")
        return reply


@asynccontextmanager
async def life(
    bench: ProviderBench, add: Callable[[Runtime], Any], transport: Transport | None = None
) -> AsyncIterator[Runtime]:
    """One process of a provider."""
    runtime = Runtime.on(
        transport or bench.transport, clock=bench.clock, field_manager="provider", random=Random(7)
    )
    add(runtime)
    async with run_services(runtime=runtime.run):
        yield runtime


async def short_lives(
    bench: ProviderBench, add: Callable[[Runtime], Any], writes: int, seconds: float = 20.0
) -> int:
    """A process that dies after so many writes; how many it would have made more."""
    mortal = Mortal(bench.transport, writes)
    async with life(bench, add, mortal):
        await asyncio.sleep(seconds)
    return mortal.left
