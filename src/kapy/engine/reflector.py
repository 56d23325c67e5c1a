"""The watch state machine: list, watch, resume, and list again if the version is too old.

    list ──ok──▶ watch ──ends──▶ watch from the last resourceVersion
     ▲             │
     └──── 410 ────┘        any other failure: wait (back-off with jitter, Retry-After), then go on

A watch event older than the requested resourceVersion is treated as 410 Gone: the server was
restored, or keeps its data in memory and was restarted, and did not notice.

Over a network the initial list is the beginning of a watch (`sendInitialEvents`): one request
instead of two and of pages, and no server has to build the whole answer. Servers without that
feature are asked for lists from then on.

No failure ends the reflector, and no failure makes it spin: two requests in a row without a pause
happen only after a watch that lived for a while, or after the first 410 since then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from random import Random
from typing import Final, Protocol

from kapy._aio.cooperation import Cooperation
from kapy.client.client import Client, over_network
from kapy.client.stream import Event
from kapy.engine.collection_limits import CollectionLimit
from kapy.engine.store import version_of
from kapy.kube import Document, Key
from kapy.kube.digits import has_only_digits, parse_integer
from kapy.kube.errors import (
    ApiError,
    BadRequest,
    Expired,
    Invalid,
    KapyError,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from kapy.kube.names import Resource

log = logging.getLogger(__name__)

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 30.0
LONGEST_WHEN_IT_FAILS: Final = 10.0  # a server that fails may be well again within seconds
LONGEST_WHEN_TOLD: Final = 5.0  # longest wait that a server may request
LIVED: Final = 5.0  # seconds after which a watch counts as successful

TOLERATED: Final = 5.0
"""Seconds for which a server may not answer, or ask for patience, before that is a warning. A load
balancer or a server that is replaced is back by then, a changed CRD is served again, and a workload
cluster that is deleted is forgotten."""


HURRY_INTERVAL: Final = 10.0
"""Seconds after which the success of another reflector may end a pause again. Without a limit,
reflectors whose lists succeed while their watches fail would end each other's pauses for ever."""
STALE_LISTS: Final = 4
"""Lists in a row that are too old, after which it is not a replica that lags behind but a server
that was restored from a backup."""


INITIAL_END: Final = "k8s.io/initial-events-end"
LONGEST_BEGINNING: Final = 60.0
"""Seconds without an initial event after which the server does not know `sendInitialEvents`: it
would say where they end. A timer: silence is all that such a server answers."""


class StaleList(KapyError):
    """The state in a server's response is older than one that the server has already sent."""


class Sink(Protocol):
    """Receives the objects and the watch events that a reflector reads."""

    async def replace(self, items: Sequence[Document], version: str) -> bool:
        """Replace the known objects by a whole list; return False to refuse a list that is older
        than the known state.
        """
        ...

    def rewind(self) -> None:
        """Distrust the known state: the next list is accepted whatever its version."""
        ...

    def take(self, event: Event) -> None:
        """Apply one watch event to the known objects."""
        ...


class Backoff:
    """Computes growing pauses with jitter, so that clients do not return to a server in step."""

    def __init__(
        self, random: Random, *, first: float = FIRST_DELAY, longest: float = LONGEST_DELAY
    ) -> None:
        self._random = random
        self._first = first
        self._longest = longest
        self._failures = 0

    def reset(self) -> None:
        """Make the next pause short again after a success."""
        self._failures = 0

    def next(self, error: BaseException | None = None) -> float:
        """Return the seconds to pause now; at least the server's Retry-After."""
        delay = min(self._first * 2.0 ** min(self._failures, 32), self._longest)
        self._failures += 1
        delay *= 0.75 + self._random.random() / 2
        retry = error.retry_after if isinstance(error, ApiError) else None
        return delay if retry is None else max(min(delay, LONGEST_WHEN_TOLD), retry)


class Reflector:
    """Keeps a sink up to date with the objects of a resource on a server.

    labels, fields, namespace: the selection of the objects. since: the resourceVersion of the state
    that the sink already has. metadata: whether only metadata is read. transform: reduces objects
    before they reach the sink, None for no change. limit: bounds an untrusted server's data, None
    for a trusted server. is_known: reports whether the sink already has this state of an object
    (mostly from the response to an own write), so that it need not be reduced once more. recovered:
    called with the failure when it is over. failure: the reason why the sink is not up to date,
    None if it is. origin: the name of the server in the log, "" for the API server of the program.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        sink: Sink,
        random: Random,
        *,
        labels: str = "",
        fields: str = "",
        namespace: str = "",
        since: str = "",
        metadata: bool = False,
    ) -> None:
        self._client = client
        self.transform: Callable[[Document], Document] | None = None
        self.is_known: Callable[[Document], bool] | None = None
        self.limit: CollectionLimit | None = None
        self.recovered: Callable[[Exception], None] | None = None
        self._metadata = metadata
        self._streams_lists = over_network(client.transport)
        self._labels = labels
        self._fields = fields
        self._namespace = namespace
        self._sink = sink
        self._backoff = Backoff(random)
        self._version = since
        self._stale_lists = 0
        self._is_refused = False
        self._hurried: asyncio.Event | None = None
        self._may_hurry_at = 0.0
        self._tried = asyncio.Event()
        self._failing_since = 0.0
        self._warned = ""
        # A watch that is behind has thousands of events, and reads them without waiting once.
        self._cooperation = Cooperation()
        self.resource = resource
        self.origin = ""
        self.failure: Exception | None = None

    async def run(self) -> None:
        """Follow the collection until cancelled."""
        while True:
            delay = await self._round()
            if delay > 0:
                self._hurried = asyncio.Event()
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await self._hurried.wait()
                self._hurried = None

    async def wait_for_first_attempt(self) -> None:
        """Wait until the first list has arrived or has failed."""
        await self._tried.wait()

    def retry_now(self) -> None:
        """End the current pause: its cause is over."""
        if self._hurried is not None:
            self._backoff.reset()
            self._hurried.set()

    def retry_if_due(self) -> None:
        """End the current pause, since its cause may be over; do nothing within the
        `HURRY_INTERVAL` after the last time.
        """
        now = asyncio.get_running_loop().time()
        if self._hurried is not None and now >= self._may_hurry_at:
            self._may_hurry_at = now + HURRY_INTERVAL
            self._hurried.set()

    async def _round(self) -> float:
        """Run one list or one watch; return the seconds to wait before the next."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        error: Exception | None = None
        try:
            if self._version:
                await self._watch()
            elif self._streams_lists:
                await self._watch_list()
            else:
                await self._list()
                self._on_success()
                return 0.0
        except Expired as expired:
            self._version = ""
            error = expired
        except KapyError as failure:
            error = failure
            self._log_failure(failure, lived=loop.time() - began >= LIVED)
        except Exception as failure:
            # For example a document without metadata: the state is unknown, so list again.
            self._version = ""
            error = failure
            log.exception("watching %s failed", self._subject)
        self.failure = error
        if error is not None:
            self._tried.set()
        return self._pause(error, lived=loop.time() - began >= LIVED)

    def _pause(self, error: Exception | None, *, lived: bool) -> float:
        """Return the seconds to wait after a round."""
        if lived:
            self._backoff.reset()
            self._is_refused = False
        if isinstance(error, Expired) and not self._is_refused:
            self._backoff.reset()  # the server answers: reset the back-off
            self._is_refused = True
            return 0.0
        if lived and error is None:
            return 0.0
        pause = self._backoff.next(error)
        return min(pause, LONGEST_WHEN_IT_FAILS) if type(error) is ServerError else pause

    def _on_success(self) -> None:
        """Record that the sink is up to date."""
        was, self.failure = self.failure, None
        if was is not None and self.recovered is not None:
            self.recovered(was)

    def _log_failure(self, failure: KapyError, *, lived: bool) -> None:
        """Log a failure to list or watch.

        A new failure is a warning. While the server is unreachable only briefly, the level is INFO.
        """
        now = asyncio.get_running_loop().time()
        if self.failure is None or lived:
            self._failing_since, self._warned = now, ""
        text = str(failure)
        is_brief = now - self._failing_since < TOLERATED
        if is_brief and isinstance(failure, (Unreachable, TooManyRequests)):
            level = logging.INFO
        elif text == self._warned:
            level = logging.DEBUG
        else:
            level, self._warned = logging.WARNING, text
        log.log(level, "watching %s: %s: %s", self._subject, type(failure).__name__, text)

    @property
    def _subject(self) -> str:
        """The name of the collection in the log."""
        return f"{self.resource.plural} of {self.origin}" if self.origin else self.resource.plural

    async def _list(self) -> None:
        listed = await self._client.list(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            metadata=self._metadata,
        )
        trim = self.transform
        items = listed.items if trim is None else list(map(trim, listed.items))
        if self.limit is not None:
            self.limit.begin()
            for item in items:
                self.limit.add(item)
        await self._replace(items, listed.resource_version)

    async def _replace(self, items: Sequence[Document], version: str) -> None:
        if not await self._sink.replace(items, version):
            self._stale_lists += 1
            if self._stale_lists == 1:
                self._backoff.reset()  # the server answers: reset the back-off
            if self._stale_lists < STALE_LISTS:
                raise StaleList(f"the list is as of {version}: older than known")
            log.warning("%s returned to an older state: reading everything again", self._subject)
            self._sink.rewind()
            await self._sink.replace(items, version)
        self._stale_lists = 0
        self._version = version
        self._tried.set()

    async def _watch_list(self) -> None:
        """Read the initial events, then every change."""
        try:
            async with self._open_watch("") as events:
                async with asyncio.timeout(LONGEST_BEGINNING) as limit:
                    await self._begin(events, limit)
                await self._follow(events)
        except (Invalid, BadRequest) as error:
            if self._version:
                raise
            self._fall_back_to_lists(str(error))
        except TimeoutError:
            self._fall_back_to_lists("it did not say where the beginning ends")

    async def _begin(self, events: AsyncIterator[Event], limit: asyncio.Timeout) -> None:
        """Read the initial events up to the bookmark that ends them. limit: the timeout, which each
        event extends.
        """
        loop = asyncio.get_running_loop()
        items: dict[Key, Document] = {}
        if self.limit is not None:
            self.limit.begin()
        async for event in events:
            limit.reschedule(loop.time() + LONGEST_BEGINNING)
            await self._cooperation.step()
            if self.transform is not None and event.type != "BOOKMARK":
                # Transformed at once: a whole list of full objects takes several times the memory.
                event = Event(event.type, self.transform(event.document))
            if self.limit is not None:
                self.limit.follow(event)
            metadata = event.document["metadata"]
            key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
            if event.type == "BOOKMARK":
                if (metadata.get("annotations") or {}).get(INITIAL_END) == "true":
                    await self._replace(list(items.values()), _version_in(event.document))
                    self._on_success()
                    return
            elif event.type == "DELETED":
                items.pop(key, None)
            else:
                items[key] = event.document
        raise Unreachable(f"the watch of {self.resource.plural} ended in its beginning")

    def _fall_back_to_lists(self, why: str) -> None:
        log.debug("%s are listed: the server does not stream lists: %s", self.resource.plural, why)
        self._streams_lists = False

    async def _watch(self) -> None:
        async with self._open_watch(self._version) as events:
            self._on_success()
            await self._follow(events)

    def _open_watch(self, since: str) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        return self._client.watch(
            self.resource,
            self._namespace,
            resource_version=since,
            labels=self._labels,
            fields=self._fields,
            initial_events=not since,
            metadata=self._metadata,
        )

    async def _follow(self, events: AsyncIterator[Event]) -> None:
        """Pass watch events to the sink. Raises Expired for an event older than the requested
        version.
        """
        since = parse_integer(self._version)
        async for event in events:
            document = event.document
            # A DELETED event may contain the last state before the deletion. In any other event an
            # older version shows that the server's versions restarted without a 410.
            if 0 < version_of(document) < since and event.type != "DELETED":
                self._stale_lists = STALE_LISTS  # a lagging replica never sends such an event
                raise Expired(f"the watch from {since} tells of {version_of(document)}")
            self._version = _version_in(document)
            if (
                self.transform is not None
                and event.type not in ("BOOKMARK", "DELETED")
                and not (self.is_known is not None and self.is_known(document))
            ):
                event = Event(event.type, self.transform(document))
            if self.limit is not None:
                self.limit.follow(event)
            self._sink.take(event)
            del event, document  # the next one may come in hours
            await self._cooperation.step()


def _version_in(document: Document) -> str:
    """Return the resourceVersion of an event. Raises Unreachable if it has none."""
    version: str = document["metadata"].get("resourceVersion") or ""
    if not has_only_digits(version):
        raise Unreachable("an event has no resourceVersion")
    return version
