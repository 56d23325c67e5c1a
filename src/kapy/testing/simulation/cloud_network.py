"""Requests of a manager to its cloud, or to a container engine: latencies and faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Final, TypeVar

from kapy.kube.http import Request
from kapy.testing.simulation.event_loop import PROCESS
from kapy.testing.simulation.network import (
    DEADLINE,
    LATE,
    LATENCY,
    Network,
    Process,
    loop_time,
    text_of,
)

SLOW: Final = 20.0
DOWN: Final = 60.0

T = TypeVar("T")
Act = Callable[[], Awaitable[T]]
MakeError = Callable[[str], Exception]
"""Makes the error that a client of the cloud raises. The argument is a sentence for its message."""


class CloudNetwork:
    """Carries the requests of one process to a cloud, with latencies and faults. lost: makes the
    error for a request without a response. failed: makes the error for an error response of the
    cloud. is_far: whether requests take time and are recorded in the trace.
    """

    def __init__(
        self,
        process: Process,
        shared: Network,
        lost: MakeError,
        failed: MakeError,
        *,
        is_far: bool,
    ) -> None:
        self._is_far = is_far
        self._process = process
        self._shared = shared
        self._lost = lost
        self._failed = failed

    async def request(self, verb: str, path: str, act: Act[T]) -> T:
        """Send a request to the cloud, and return its result. act: performs the request in the
        cloud.
        """
        process, shared = self._process, self._shared
        await self._travel()
        request = Request(verb, path)
        fault = shared.fault(process, "c", request)
        kind = "" if fault is None else fault.kind
        if kind == "cloud-down":
            process.state.cloud_down_until = loop_time() + DOWN
        if loop_time() < process.state.cloud_down_until:
            raise self._lost("the cloud does not answer")
        await self._delay(kind, request, act)
        answer = await self._carry_out(request, act)
        await self._end(kind)
        await self._travel()
        return answer

    async def _delay(self, kind: str, request: Request, act: Act[T]) -> None:
        """Apply the effect of a fault before the cloud receives the request."""
        match kind:
            case "cloud-crash-before":
                self._process.crash()
                await _end_of_process()
            case "cloud-lost-request":
                raise self._lost("the request was lost")
            case "cloud-failed":
                raise self._failed("internal server error")
            case "cloud-slow":
                await asyncio.sleep(SLOW / 2)
            case "cloud-late":
                self._carry_out_later(request, act)
                await asyncio.sleep(DEADLINE)
                raise self._lost("the request timed out")

    async def _end(self, kind: str) -> None:
        """Apply the effect of a fault after the cloud has performed the request."""
        match kind:
            case "cloud-crash-after":
                self._process.crash()
                await _end_of_process()
            case "cloud-lost-reply":
                raise self._lost("the reply was lost")
            case "cloud-half-failed":
                raise self._failed("internal server error")
            case "cloud-slow":
                await asyncio.sleep(SLOW / 2)

    async def _travel(self) -> None:
        process = self._process
        if not process.is_alive:
            raise self._lost("the process has ended")
        if not self._is_far:
            return
        await asyncio.sleep(self._shared.latency(f"{process.manager}/cloud", LATENCY))
        if not process.is_alive:
            raise self._lost("the process has ended")

    async def _carry_out(self, request: Request, act: Act[T]) -> T:
        """Perform a request in the cloud; it goes on when the process ends."""
        if not self._is_far:
            return await act()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def work() -> None:
            try:
                result = await act()
            except Exception as error:
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():
                    answer.set_result(result)

        self._shared.trace.add("cloud request", by=self._process.manager, request=text_of(request))
        self._spawn(work)
        return await answer

    def _carry_out_later(self, request: Request, act: Act[T]) -> None:
        async def work() -> None:
            await asyncio.sleep(LATE)
            self._shared.trace.add("late request to the cloud", request=text_of(request))
            await act()

        self._spawn(work)

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start a task that does not belong to the process: it neither ends nor stops with it."""
        assert self._shared.spawn is not None
        context = copy_context()
        context.run(PROCESS.set, None)
        context.run(self._shared.spawn, work)


async def _end_of_process() -> None:
    """Wait for the cancellation of a process that has ended."""
    await asyncio.get_running_loop().create_future()
