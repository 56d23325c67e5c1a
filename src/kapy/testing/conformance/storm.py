"""A provider's bad day: its requests and its life are disturbed, by a seed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import Final

from kapy.kube.errors import ServerError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.ground import Ground
from kapy.testing.conformance.heard import HearingServer
from kapy.testing.conformance.subject import Limits, Subject
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
"""How often the provider is killed while it is made to do something."""
_WRITES: Final = 4
"""Between two crashes, at most."""
_DEATHS: Final = 20
"""How often a provider may end by itself, as managers do that cannot read anything."""
_AGAIN_AFTER: Final = 1.0
_UNCHANGING: Final = frozenset({"GET", "HEAD"})
_BESIDES: Final = ("/events", "/leases")


class Storm:
    """Between a provider and its API server. network: whether the provider is somewhere else.

    The provider is killed right after some of its writes, before it has the answer.
    """

    def __init__(self, server: HearingServer, seed: int, *, network: bool) -> None:
        self._server = server
        self._random = Random(seed)
        self._network = network
        self._faults = Faults(self._acted, CALM, seed=seed)
        self._left = 0  # writes until the next crash, 0: there is none to come
        self._crashes = 0
        self.crash = asyncio.Event()
        server.door = self

    def rage(self) -> None:
        """From now on things go wrong."""
        # A stream that breaks looks like an error of ours over the network: there it ends.
        over_network = replace(RATES, watch_breaks=0.0, watch_expires=0.05)
        self._faults.rates = over_network if self._network else RATES
        self._crashes = _CRASHES
        self._plan()

    def calm(self) -> None:
        """From now on everything works."""
        self._faults.calm()
        self._crashes = self._left = 0

    def end(self) -> None:
        """There is no storm any more: whoever runs from now on is somebody new."""
        self.calm()
        self.crash.clear()

    def _plan(self) -> None:
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

    async def _acted(self, request: Request) -> Reply:
        reply = await self._server.heard(request)
        if self._left and reply.status < 400 and _is_write(request):
            self._left -= 1
            if not self._left:
                self.crash.set()
                if self._network:  # it is killed before it reads an answer, or soon after
                    raise Unreachable("the provider was killed")
                await asyncio.get_running_loop().create_future()  # until it is cancelled
        return reply

    async def living(self, subject: Subject, ground: Ground, began: asyncio.Event) -> None:
        """Run the provider, and start it again when it was killed. began: set once it runs.

        Raises SubjectError where it ends by itself again and again.
        """
        deaths = 0
        while True:
            try:
                async with subject.way.running(ground, Limits()):
                    began.set()
                    await self.crash.wait()
            except SubjectError:
                deaths += 1
                if deaths > _DEATHS:
                    raise
                # A timer, as that of whoever restarts programs that end.
                await asyncio.sleep(_AGAIN_AFTER)
            else:
                self.crash.clear()
                self._plan()


def _is_write(request: Request) -> bool:
    return request.method not in _UNCHANGING and not any(one in request.path for one in _BESIDES)
