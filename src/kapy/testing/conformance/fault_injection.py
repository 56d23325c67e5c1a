"""Inject faults into a provider's requests and restart it, reproducibly by seed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import Final

from kapy.kube.errors import ServerError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.testing.conformance.environment import Environment
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.provider_under_test import Limits, ProviderUnderTest
from kapy.testing.conformance.write_log import RecordingServer
from kapy.testing.faults import CALM, Faults, Rates

RATES: Final = Rates(
    lost_request=0.05,
    lost_answer=0.08,
    conflict=0.08,
    throttled=0.03,
    broken=0.03,
    watch_breaks=0.03,
    watch_expires=0.02,
    stale_list=0.1,
    delay=0.05,
    again=0.1,
)
_CRASHES: Final = 4
"""The number of kills of the provider in one lifecycle."""
_WRITES: Final = 4
"""The maximum number of writes between two crashes."""
_DEATHS: Final = 20
"""The number of times that a provider may end by itself, as managers do that cannot read
anything."""
_AGAIN_AFTER: Final = 1.0
_UNCHANGING: Final = frozenset({"GET", "HEAD"})
_BESIDES: Final = ("/events", "/leases")


class FaultInjector:
    """A proxy for the provider's requests that injects faults. network: whether the provider is
    another program.

    It kills the provider right after some of its writes, before the response arrives.
    """

    def __init__(self, server: RecordingServer, seed: int, *, network: bool) -> None:
        self._server = server
        self._random = Random(seed)
        self._network = network
        self._faults = Faults(self._forward, CALM, seed=seed)
        self._left = 0  # writes until the next crash, 0 if none is planned
        self._crashes = 0
        self.crash = asyncio.Event()
        server.handler = self

    def start_faults(self) -> None:
        """Start injecting faults into the provider's requests."""
        # Over the network, an error in a stream looks like one of the client: end the stream
        # instead.
        over_network = replace(RATES, watch_breaks=0.0, watch_expires=0.05)
        self._faults.rates = over_network if self._network else RATES
        self._crashes = _CRASHES
        self._plan_crash()

    def stop_faults(self) -> None:
        """Stop injecting faults."""
        self._faults.calm()
        self._crashes = self._left = 0

    def shut_down(self) -> None:
        """Stop injecting faults and forget a pending crash."""
        self.stop_faults()
        self.crash.clear()

    def _plan_crash(self) -> None:
        self._left = self._random.randint(1, _WRITES) if self._crashes else 0
        self._crashes = max(0, self._crashes - 1)

    async def __call__(self, request: Request) -> Reply:
        try:
            if self.crash.is_set():
                raise Unreachable("the provider was killed")
            return await self._faults(request)
        except Unreachable as error:
            if not self._network:
                raise
            return Reply(ServerError.code, ServerError(str(error)).status())

    async def _forward(self, request: Request) -> Reply:
        reply = await self._server.answer_and_record(request)
        if self._left and reply.status < 400 and _is_write(request):
            self._left -= 1
            if not self._left:
                self.crash.set()
                if self._network:  # the process is killed before it reads the answer
                    raise Unreachable("the provider was killed")
                await asyncio.get_running_loop().create_future()  # wait for the cancellation
        return reply

    async def run_with_restarts(
        self, provider: ProviderUnderTest, environment: Environment, began: asyncio.Event
    ) -> None:
        """Run the provider, and start it again after each crash. began: an event that is set once
        it runs.

        Raises SubjectError if it ends by itself again and again.
        """
        deaths = 0
        while True:
            try:
                await self._run_until_crash(provider, environment, began)
            except SubjectError:
                deaths += 1
                if deaths > _DEATHS:
                    raise
                # A timer, like that of a supervisor that restarts programs.
                await asyncio.sleep(_AGAIN_AFTER)
            else:
                self.crash.clear()
                self._plan_crash()

    async def _run_until_crash(
        self, provider: ProviderUnderTest, environment: Environment, began: asyncio.Event
    ) -> None:
        """Run the provider until it is killed, which may be while it still starts."""

        failures: list[SubjectError] = []

        async def run() -> None:
            try:
                async with provider.launcher.running(environment, Limits()):
                    began.set()
                    await self.crash.wait()
            except SubjectError as error:
                failures.append(error)

        async with asyncio.TaskGroup() as group:
            tasks = {group.create_task(run()), group.create_task(_wait(self.crash))}
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        if failures:
            raise failures[0]


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


def _is_write(request: Request) -> bool:
    return request.method not in _UNCHANGING and not any(
        beside in request.path for beside in _BESIDES
    )
