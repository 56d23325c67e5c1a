"""One connection to one workload cluster: its client, its watches and its health."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context
from datetime import datetime
from random import Random
from typing import Any, Final, NamedTuple

from kapy.client.client import Client, Listed
from kapy.client.intercept import Interceptor, probe_of
from kapy.client.server_clock import ServerClock
from kapy.client.stream import Event
from kapy.engine.cache import Informer
from kapy.engine.collection_limits import CollectionLimit
from kapy.engine.reconcile_log import log_write
from kapy.engine.reflector import Backoff, Reflector
from kapy.engine.store import Store
from kapy.engine.transform import TransformFunc, transform_of
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import Resource
from kapy.kube.packed_json import Packer
from kapy.kube.selectors import parse_labels
from kapy.remote.request_throttle import RequestThrottle

FIRST_RETRY: Final = 0.2
LONGEST_RETRY: Final = 30.0
SOON: Final = 1.0
PART: Final = 0.1


class FailureDetector(Interceptor):
    """A transport that reports failures before a probe would notice them.

    A response of an unexpected form counts as Unreachable, too: it comes from another server, such
    as a proxy's error page or a load balancer without backends.
    """

    __slots__ = ("_suspect",)

    def __init__(self, transport: Transport, suspect: Callable[[], None]) -> None:
        super().__init__(transport)
        self._suspect = suspect

    async def __call__(self, request: Request) -> Reply:
        return await self._send(self.transport, request)

    async def probe(self, request: Request) -> Reply:
        """Send a probe; a response of an unexpected form is a failure, too."""
        return await self._send(probe_of(self.transport), request)

    async def _send(self, way: Transport, request: Request) -> Reply:
        try:
            reply = await way(request)
            if reply.status < 300 and not _has_expected_form(reply.body, request):
                raise Unreachable(f"{self.host} answers {request.path} with nonsense")
        except Unreachable:
            self._suspect()
            raise
        return reply


def _has_expected_form(body: Any, request: Request) -> bool:
    """Return whether a response's body has the form that the request asks for: events, or one
    document.
    """
    if "watch" in request.query:
        return not isinstance(body, (bytes, dict))
    return isinstance(body, dict) and bool(body)


class Selection(NamedTuple):
    """A selection of objects of a workload cluster. temporary: watched only while a caller waits
    for changes."""

    resource: Resource
    labels: str = ""
    fields: str = ""
    temporary: bool = False


class WatchedCollection:
    """The cached objects of one collection in a workload cluster, and the task that watches it."""

    __slots__ = ("_synced", "informer", "reflector", "store", "task")

    def __init__(
        self,
        resource: Resource,
        labels: str,
        synced: Callable[[], None],
        trim: TransformFunc | None,
    ) -> None:
        self.store = Store(parse_labels(labels) if labels else None, trim)
        self.informer: Informer[Document] = Informer(resource, self.store)
        self.reflector: Reflector | None = None
        self.task: asyncio.Task[None] | None = None
        self._synced = synced

    async def replace(self, items: Sequence[Document], version: str) -> bool:
        """Replace the cached objects by a complete list; the first list notifies the waiting
        controllers.
        """
        first = not self.store.is_synced
        result = await self.store.replace(items, version)
        if first:
            self._synced()
        return result

    def rewind(self) -> None:
        """Mark the cached objects as possibly outdated, since the server may have gone back."""
        self.store.rewind()

    def take(self, event: Event) -> None:
        """Apply one watch event to the cached objects."""
        self.store.take(event)


class ClusterAccessor:
    """The state of the connection to one cluster.

    clock: the time by the cluster's API server, as its last connection knows it.
    value: its kubeconfig as the Secret holds it. client: None while there is no connection, for
    `reason`. throttle: limits the client's requests. failures: since the last success. suspected: a
    request failed, and the next probe has to confirm it. probes_passed, probes_failed: totals over
    all connections.
    """

    __slots__ = (
        "backoff",
        "client",
        "clock",
        "cluster",
        "failures",
        "informers",
        "last_success",
        "probes_failed",
        "probes_passed",
        "reason",
        "suspected",
        "throttle",
        "transport",
        "unreachable_since",
        "value",
    )

    def __init__(self, cluster: Key, random: Random) -> None:
        self.cluster = cluster
        self.value = ""
        self.client: Client | None = None
        self.clock: ServerClock | None = None
        self.transport: FailureDetector | None = None
        self.throttle: RequestThrottle | None = None
        self.informers: dict[Selection, WatchedCollection] = {}
        self.failures = 0
        self.probes_failed = 0
        self.probes_passed = 0
        self.last_success: datetime | None = None
        self.reason = "no connection was tried yet"
        self.suspected = False
        self.backoff = Backoff(random, first=FIRST_RETRY, longest=LONGEST_RETRY)
        self.unreachable_since: float | None = None

    @property
    def over_network(self) -> bool:
        """Return whether only a probe can detect that the server went away."""
        return self.transport is not None and self.transport.over_network

    def use(
        self, transport: FailureDetector, throttle: RequestThrottle, field_manager: str
    ) -> None:
        """Use an open connection. throttle: a transport that limits the requests of reconciles on
        it.
        """
        self.transport = transport
        self.throttle = throttle
        self.client = Client(throttle, field_manager=field_manager, observe=self.observe)
        self.client.log_write = log_write

    def observe(self, resource: Resource, document: Document) -> None:
        """Store the object in the response to a write of this program in the caches of this
        cluster.
        """
        for selection, entry in self.informers.items():
            # Only the server evaluates field selectors: the watch delivers those objects.
            if selection.resource == resource and not selection.fields:
                entry.store.observe(document)

    def watch(
        self,
        selection: Selection,
        group: asyncio.TaskGroup,
        random: Random,
        synced: Callable[[], None],
        listed: Listed[Document] | None = None,
    ) -> WatchedCollection:
        """Return the collection, and watch it if it is not watched yet. listed: its first list."""
        informer = self.informers.get(selection)
        if informer is None:
            assert self.transport is not None
            reading = Client(self.transport)  # not throttled: no reconcile waits for it
            resource, labels, fields, _ = selection
            trim = (
                transform_of(resource, metadata=False, managers=False)
                if self.over_network
                else None
            )
            informer = self.informers[selection] = WatchedCollection(resource, labels, synced, trim)
            since = listed.resource_version if listed is not None else ""
            if listed is not None:
                items = listed.items if trim is None else list(map(trim, listed.items))
                informer.store.load(items, since)
            informer.reflector = reflector = Reflector(
                reading, resource, informer, random, labels=labels, fields=fields, since=since
            )
            reflector.origin = f"cluster {self.cluster}"
            reflector.transform = trim
            reflector.limit = CollectionLimit() if self.over_network else None
            name = f"{self.cluster} {resource.plural}"
            # Independent of the caller's context, which it outlives.
            informer.task = group.create_task(reflector.run(), name=name, context=Context())
        return informer

    def unwatch(self, selection: Selection) -> None:
        """Stop watching a collection."""
        watched = self.informers.pop(selection, None)
        if watched is not None and watched.task is not None:
            watched.task.cancel()

    def record_success(self, at: datetime) -> None:
        """Record that the cluster responded."""
        if self.failures:
            self._retry_watches()
        self.failures = 0
        self.last_success = at
        self.reason = ""
        self.suspected = False
        self.backoff.reset()
        self.unreachable_since = None

    def pause(self, error: KapyError) -> float:
        """Return the seconds until the next attempt to connect.

        A cluster that comes up for the first time is noticed after a tenth of its start time at
        most: a control plane that takes half a minute to start must not be waited for another half.
        """
        now = asyncio.get_running_loop().time()
        if self.unreachable_since is None:
            self.unreachable_since = now
        pause = self.backoff.next(error)
        if self.last_success is not None or not isinstance(error, Unreachable):
            return pause
        return min(pause, max(SOON, (now - self.unreachable_since) * PART))

    def _retry_watches(self) -> None:
        """Retry all watches now: their pauses have grown during the failure."""
        for watched in self.informers.values():
            if watched.reflector is not None:
                watched.reflector.retry_now()

    def record_failure(self, because: str) -> None:
        """Record that the cluster did not respond as expected. because: the reason."""
        self.failures += 1
        self.reason = because

    async def close(self, because: str) -> None:
        """Close the connection and all its watches."""
        transport, self.transport, self.client = self.transport, None, None
        self.reason = because
        self.suspected = False
        if self.throttle is not None:
            self.throttle.cancel_retry()
        for watched in self.informers.values():
            if watched.task is not None:
                watched.task.cancel()
        self.informers.clear()
        if transport is not None:
            await transport.aclose()


def pack_idle(accessors: Iterable[ClusterAccessor], packer: Packer) -> Iterator[None]:
    """Pack the documents of workload clusters that came before the last call, one at each step."""
    for accessor in tuple(accessors):
        for watched in tuple(accessor.informers.values()):
            yield from watched.store.objects.pack_idle(packer)
