"""One connection to one workload cluster: its client, what is watched there, how it fares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context
from datetime import datetime
from random import Random
from typing import Any, Final, NamedTuple

from kapy.client.client import Client, Listed
from kapy.client.intercept import Interceptor, probe_of
from kapy.client.stream import Event
from kapy.engine.bounds import Bound
from kapy.engine.cache import Informer
from kapy.engine.reflector import Backoff, Reflector
from kapy.engine.store import Store
from kapy.engine.trimming import Trim, trim_of
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import Resource
from kapy.kube.selectors import parse_labels
from kapy.remote.patience import Patience

FIRST_RETRY: Final = 0.2
LONGEST_RETRY: Final = 30.0
SOON: Final = 1.0
PART: Final = 0.1


class Suspicious(Interceptor):
    """A transport that says so when nobody answers, before any probe would notice.

    Nor is an answer without sense one (Unreachable): somebody else is there, a proxy's error page
    or a load balancer that has lost its servers.
    """

    __slots__ = ("_suspect",)

    def __init__(self, transport: Transport, suspect: Callable[[], None]) -> None:
        super().__init__(transport)
        self._suspect = suspect

    async def __call__(self, request: Request) -> Reply:
        return await self._asked(self.transport, request)

    async def probe(self, request: Request) -> Reply:
        """A probe, which a nonsensical answer fails, too."""
        return await self._asked(probe_of(self.transport), request)

    async def _asked(self, way: Transport, request: Request) -> Reply:
        try:
            reply = await way(request)
            if reply.status < 300 and not _makes_sense(reply.body, request):
                raise Unreachable(f"{self.host} answers {request.path} with nonsense")
        except Unreachable:
            self._suspect()
            raise
        return reply


def _makes_sense(body: Any, request: Request) -> bool:
    """Whether the body is of the form that the request asks for: events, or one document."""
    if "watch" in request.query:
        return not isinstance(body, (bytes, dict))
    return isinstance(body, dict) and bool(body)


class Selection(NamedTuple):
    """Which objects of a workload cluster are watched. passing: only for as long as somebody
    waits for them."""

    resource: Resource
    labels: str = ""
    fields: str = ""
    passing: bool = False


class Watched:
    """One collection of a workload cluster, and the task that follows it."""

    __slots__ = ("_synced", "informer", "reflector", "store", "task")

    def __init__(
        self, resource: Resource, labels: str, synced: Callable[[], None], trim: Trim | None
    ) -> None:
        self.store = Store(parse_labels(labels) if labels else None, trim)
        self.informer: Informer[Document] = Informer(resource, self.store)
        self.reflector: Reflector | None = None
        self.task: asyncio.Task[None] | None = None
        self._synced = synced

    def replace(self, items: Sequence[Document], version: str) -> bool:
        """Take in a whole list; the first one is news to those who wait for it."""
        first = not self.store.is_synced
        taken = self.store.replace(items, version)
        if first:
            self._synced()
        return taken

    def rewind(self) -> None:
        """Distrust all that is known."""
        self.store.rewind()

    def take(self, event: Event) -> None:
        """Take in one watch event."""
        self.store.take(event)


class Link:
    """What is known about the way to one cluster.

    value: the kubeconfig that it was made with, as the Secret holds it. client: None while there
    is no connection, for the reason `because`. patience: what of it there is with the client's
    requests. failures: since the last success. suspected: a request found nobody, and the next
    probe has to say whether that is so. probes_passed and probes_failed: of established
    connections, ever.
    """

    __slots__ = (
        "away_since",
        "backoff",
        "because",
        "client",
        "cluster",
        "failures",
        "informers",
        "last_success",
        "patience",
        "probes_failed",
        "probes_passed",
        "suspected",
        "transport",
        "value",
    )

    def __init__(self, cluster: Key, random: Random) -> None:
        self.cluster = cluster
        self.value = ""
        self.client: Client | None = None
        self.transport: Suspicious | None = None
        self.patience: Patience | None = None
        self.informers: dict[Selection, Watched] = {}
        self.failures = 0
        self.probes_failed = 0
        self.probes_passed = 0
        self.last_success: datetime | None = None
        self.because = "no connection was tried yet"
        self.suspected = False
        self.backoff = Backoff(random, first=FIRST_RETRY, longest=LONGEST_RETRY)
        self.away_since: float | None = None

    @property
    def over_network(self) -> bool:
        """Whether only a probe can tell that the other side went away."""
        return self.transport is not None and self.transport.over_network

    def observe(self, resource: Resource, document: Document) -> None:
        """Take in what a write of ours to this cluster returned."""
        for selection, entry in self.informers.items():
            # What fields select is not known here: that comes with the watch.
            if selection.resource == resource and not selection.fields:
                entry.store.observe(document)

    def follow(
        self,
        selection: Selection,
        group: asyncio.TaskGroup,
        random: Random,
        synced: Callable[[], None],
        listed: Listed[Document] | None = None,
    ) -> Watched:
        """The objects, watched from now on if they were not yet. listed: their first list."""
        found = self.informers.get(selection)
        if found is None:
            assert self.transport is not None
            reading = Client(self.transport)  # nobody waits for it: it may take its time
            resource, labels, fields, _ = selection
            trim = trim_of(resource, metadata=False, managers=False) if self.over_network else None
            found = self.informers[selection] = Watched(resource, labels, synced, trim)
            since = listed.resource_version if listed is not None else ""
            if listed is not None:
                items = listed.items if trim is None else list(map(trim, listed.items))
                found.store.replace(items, since)
            found.reflector = reflector = Reflector(
                reading, resource, found, random, labels=labels, fields=fields, since=since
            )
            reflector.trim = trim
            reflector.bound = Bound() if self.over_network else None
            name = f"{self.cluster} {resource.plural}"
            # It outlives what it was asked for in.
            found.task = group.create_task(reflector.run(), name=name, context=Context())
        return found

    def unfollow(self, selection: Selection) -> None:
        """Watch these objects no longer."""
        watched = self.informers.pop(selection, None)
        if watched is not None and watched.task is not None:
            watched.task.cancel()

    def succeeded(self, at: datetime) -> None:
        """The cluster answered."""
        if self.failures:
            self._hurry()
        self.failures = 0
        self.last_success = at
        self.because = ""
        self.suspected = False
        self.backoff.reset()
        self.away_since = None

    def pause(self, error: KapyError) -> float:
        """Seconds until the next attempt to connect.

        Who comes up first is noticed after a tenth of the time that it took, at most: a control
        plane that takes half a minute to start must not be waited for another half.
        """
        now = asyncio.get_running_loop().time()
        if self.away_since is None:
            self.away_since = now
        pause = self.backoff.next(error)
        if self.last_success is not None or not isinstance(error, Unreachable):
            return pause
        return min(pause, max(SOON, (now - self.away_since) * PART))

    def _hurry(self) -> None:
        """What is watched goes on now: its pauses have grown while nobody answered."""
        for watched in self.informers.values():
            if watched.reflector is not None:
                watched.reflector.hurry()

    def failed(self, because: str) -> None:
        """The cluster did not answer (as it should)."""
        self.failures += 1
        self.because = because

    async def close(self, because: str) -> None:
        """End the connection and all that is watched through it."""
        transport, self.transport, self.client = self.transport, None, None
        self.because = because
        self.suspected = False
        if self.patience is not None:
            self.patience.uninvite()
        for watched in self.informers.values():
            if watched.task is not None:
                watched.task.cancel()
        self.informers.clear()
        if transport is not None:
            await transport.aclose()
