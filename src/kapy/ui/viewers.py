"""The state that the server keeps for each viewer: client, rights and watched fleet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.client.kinds import Kinds
from kapy.clusterctl.describe.source import CLUSTERS
from kapy.kube.http import User
from kapy.ui.fleet import Fleet
from kapy.ui.hook_calls import HookCalls
from kapy.ui.rights import Rights

log = logging.getLogger(__name__)

MOST_VIEWERS: Final = 50
DISCOVERY_LIFE: Final = timedelta(minutes=1)
MOST_READS: Final = 6
"""Clusters that are read for a viewer at a time: each takes its slices of the event loop."""
LINGER: Final = 60.0
"""Seconds for which a fleet that no page follows stays, for the next page."""

Connect = Callable[[User], Client]
"""Returns a client that acts with the rights of a user."""

Namespaces = Callable[[], Sequence[str]]
"""The namespaces to try for a viewer who may not list namespaces."""


class Viewer:
    """One user of the pages. All reads and writes for this user go through `client`.

    untried: the number of namespaces whose clusters are not shown, because the user's rights there
    were not checked. turns: limits the number of clusters that are read at the same time.
    page_seconds: the duration of the last page of each route.
    """

    def __init__(self, user: User, client: Client, clock: Clock, namespaces: Sequence[str]) -> None:
        self.user = user
        self.client = client
        self.rights = Rights(client, clock, namespaces)
        self._clock = clock
        self._kinds = (clock(), Kinds(client))
        self.calls = HookCalls(client, clock)
        self.untried = 0
        self.turns = asyncio.Semaphore(MOST_READS)
        self.page_seconds: dict[str, float] = {}
        self._fleet: Fleet | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def kinds(self) -> Kinds:
        """The kinds of the server, discovered anew from time to time."""
        now = self._clock()
        if now - self._kinds[0] > DISCOVERY_LIFE:
            self._kinds = (now, Kinds(self.client))
        return self._kinds[1]

    async def fleet(self, group: asyncio.TaskGroup) -> Fleet:
        """Return the clusters that the viewer may see now. Raises ApiError, Unreachable."""
        namespaces, self.untried = await self.rights.namespaces_with("list", CLUSTERS)
        if self._fleet is None or self._fleet.namespaces != tuple(namespaces):
            self.close()
            fleet = self._fleet = Fleet(self.client, namespaces, Random())
            services = (fleet.run, self.calls.run)
            self._tasks = [group.create_task(run_guarded(service)) for service in services]
        self._keep()
        return self._fleet

    def close(self) -> None:
        """End the watches of this user."""
        for task in self._tasks:
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._fleet is not None:
            self._fleet.end_streams()
        self._fleet, self._tasks, self._timer = None, [], None

    def _keep(self) -> None:
        """Keep the watched clusters for a while; then end the watches unless a page follows
        them.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(LINGER, self._close_if_unwatched)

    def _close_if_unwatched(self) -> None:
        if self._fleet is not None and self._fleet.is_watched:
            self._keep()
        else:
            self.close()


async def run_guarded(service: Callable[[], Awaitable[None]]) -> None:
    """Run a service; its failure ends neither the other pages nor the plane."""
    try:
        await service()
    except Exception:
        log.exception("a watch of the fleet page failed")


class Viewers:
    """The viewers by user; at the limit, the least recently seen viewer is dropped."""

    def __init__(self, connect: Connect, clock: Clock, namespaces: Namespaces) -> None:
        self._connect = connect
        self._clock = clock
        self._namespaces = namespaces
        self._viewers: dict[object, Viewer] = {}

    def of(self, user: User) -> Viewer:
        """Return the viewer for a user; users with different groups are different viewers."""
        extra = tuple(sorted((key, tuple(values)) for key, values in user.extra.items()))
        identity = (user.name, user.groups, user.uid, extra)
        viewer = self._viewers.pop(identity, None)
        if viewer is None:
            viewer = Viewer(user, self._connect(user), self._clock, self._namespaces())
            while len(self._viewers) >= MOST_VIEWERS:
                self._viewers.pop(next(iter(self._viewers))).close()
        self._viewers[identity] = viewer
        return viewer

    def close(self) -> None:
        """End the watches of all users."""
        for viewer in self._viewers.values():
            viewer.close()
