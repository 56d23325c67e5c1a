"""The watch state machine: list, watch from there, resume, and list again when too old.

    list ──ok──▶ watch ──ends──▶ watch from the last resourceVersion
     ▲             │
     └──── 410 ────┘        any other failure: wait (back-off with jitter, Retry-After), then go on

A watch that tells what was before the point from which it was asked for counts as 410: the server
was restored, or lives in memory and was started anew, and did not notice.

Over a network the list is the beginning of a watch (`sendInitialEvents`): one request instead of
two and of pages, and no server has to build the whole answer. Servers that cannot are asked for
lists from then on.

No failure ends it and no failure makes it spin: two requests in a row without a pause happen only
after a watch that lived for a while, or after the first 410 since then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from random import Random
from typing import Final, Protocol

from kapy.client.client import Client, over_network
from kapy.client.stream import Event
from kapy.engine.bounds import Bound
from kapy.engine.store import version_of
from kapy.engine.trimming import Trim
from kapy.kube import Document, Key
from kapy.kube.errors import (
    ApiError,
    BadRequest,
    Expired,
    Invalid,
    KapyError,
    ServerError,
    Unreachable,
)
from kapy.kube.names import Resource

log = logging.getLogger(__name__)

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 30.0
LONGEST_WHEN_IT_FAILS: Final = 10.0  # a server that fails may be well again within seconds
LONGEST_WHEN_TOLD: Final = 5.0  # or what the server says, which knows better than we do
LIVED: Final = 5.0  # seconds after which a watch that ends counts as having worked


STALE_LISTS: Final = 4
"""Lists in a row that are too old, after which it is not a replica that lags behind but a server
that was restored from a backup."""


INITIAL_END: Final = "k8s.io/initial-events-end"
LONGEST_BEGINNING: Final = 60.0
"""Seconds in which a watch must have told what there is; a server that never says that it has does
not know `sendInitialEvents`. A timer: silence is all that such a server answers."""


class StaleList(KapyError):
    """A server answered with a state from before what it told already."""


class Sink(Protocol):
    """Where a reflector puts what it reads."""

    def replace(self, items: Sequence[Document], version: str) -> bool:
        """Take in a whole list; False refuses one that is older than what is known."""
        ...

    def rewind(self) -> None:
        """Distrust all that is known: the next list is the truth."""
        ...

    def take(self, event: Event) -> None:
        """Take in one watch event."""
        ...


class Backoff:
    """Growing pauses with jitter: a fleet that lost one server must not come back in step."""

    def __init__(
        self, random: Random, *, first: float = FIRST_DELAY, longest: float = LONGEST_DELAY
    ) -> None:
        self._random = random
        self._first = first
        self._longest = longest
        self._failures = 0

    def reset(self) -> None:
        """It worked: the next pause is short again."""
        self._failures = 0

    def next(self, error: BaseException | None = None) -> float:
        """Seconds to pause now; at least what the server asked for."""
        delay = min(self._first * 2.0 ** min(self._failures, 32), self._longest)
        self._failures += 1
        delay *= 0.75 + self._random.random() / 2
        asked = error.retry_after if isinstance(error, ApiError) else None
        return delay if asked is None else max(min(delay, LONGEST_WHEN_TOLD), asked)


class Reflector:
    """Keeps a sink equal to a server's collection.

    labels, fields, namespace: what to select of it. since: the resourceVersion as of which the
    sink has been filled already. metadata: no more of the objects is asked for. trim: what
    the sink is given of an object, None for all of it. bound: what the server may tell, None where
    it is trusted. recovered: is told what was the matter when
    that is over. failure: why it is not kept so at the moment, None when it is.
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
        self.trim: Trim | None = None
        self.bound: Bound | None = None
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
        self._tried = asyncio.Event()
        self.resource = resource
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

    async def tried(self) -> None:
        """Wait until the first list is in, or it is known why it cannot be."""
        await self._tried.wait()

    def hurry(self) -> None:
        """Do not pause any longer: what kept it from being read may be over."""
        if self._hurried is not None:
            self._backoff.reset()
            self._hurried.set()

    async def _round(self) -> float:
        """One list or one watch; returns the seconds to wait before the next."""
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
                self._well()
                return 0.0
        except Expired as expired:
            self._version = ""
            error = expired
        except KapyError as failure:
            error = failure
            self._tell(failure)
        except Exception as failure:
            # A document without metadata, say. Nothing is known any more: list again.
            self._version = ""
            error = failure
            log.exception("watching %s failed", self.resource.plural)
        self.failure = error
        if error is not None:
            self._tried.set()
        return self._pause(error, lived=loop.time() - began >= LIVED)

    def _pause(self, error: Exception | None, *, lived: bool) -> float:
        """Seconds to wait after a round."""
        if lived:
            self._backoff.reset()
            self._is_refused = False
        if isinstance(error, Expired) and not self._is_refused:
            self._backoff.reset()  # it answers: what the pauses grew by is over
            self._is_refused = True
            return 0.0
        if lived and error is None:
            return 0.0
        pause = self._backoff.next(error)
        return min(pause, LONGEST_WHEN_IT_FAILS) if type(error) is ServerError else pause

    def _well(self) -> None:
        """It is kept as it should be."""
        was, self.failure = self.failure, None
        if was is not None and self.recovered is not None:
            self.recovered(was)

    def _tell(self, failure: KapyError) -> None:
        """What is the matter, once: as a warning when it is something new."""
        known = str(self.failure) == str(failure)
        level = logging.DEBUG if known else logging.WARNING
        log.log(level, "watching %s: %s: %s", self.resource.plural, type(failure).__name__, failure)

    async def _list(self) -> None:
        listed = await self._client.list(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            metadata=self._metadata,
        )
        trim = self.trim
        items = listed.items if trim is None else list(map(trim, listed.items))
        if self.bound is not None:
            self.bound.begin()
            for one in items:
                self.bound.add(one)
        self._replace(items, listed.resource_version)

    def _replace(self, items: Sequence[Document], version: str) -> None:
        if not self._sink.replace(items, version):
            self._stale_lists += 1
            if self._stale_lists == 1:
                self._backoff.reset()  # it answers: what the pauses grew by is over
            if self._stale_lists < STALE_LISTS:
                raise StaleList(f"the list is as of {version}: older than known")
            log.warning("%s went back in time: all is read anew", self.resource.plural)
            self._sink.rewind()
            self._sink.replace(items, version)
        self._stale_lists = 0
        self._version = version
        self._tried.set()

    async def _watch_list(self) -> None:
        """Take in what there is, then every change."""
        try:
            async with self._opened("") as events:
                async with asyncio.timeout(LONGEST_BEGINNING):
                    await self._begin(events)
                await self._follow(events)
        except (Invalid, BadRequest) as error:
            if self._version:
                raise
            self._lists_from_now_on(str(error))
        except TimeoutError:
            self._lists_from_now_on("it did not say where the beginning ends")

    async def _begin(self, events: AsyncIterator[Event]) -> None:
        """Read up to the bookmark that ends the initial events."""
        items: dict[Key, Document] = {}
        if self.bound is not None:
            self.bound.begin()
        async for event in events:
            if self.trim is not None and event.type != "BOOKMARK":
                # At once: a whole list as it comes takes several times the memory.
                event = Event(event.type, self.trim(event.document))
            if self.bound is not None:
                self.bound.follow(event)
            metadata = event.document["metadata"]
            key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
            if event.type == "BOOKMARK":
                if (metadata.get("annotations") or {}).get(INITIAL_END) == "true":
                    self._replace(list(items.values()), _version_in(event.document))
                    self._well()
                    return
            elif event.type == "DELETED":
                items.pop(key, None)
            else:
                items[key] = event.document
        raise Unreachable(f"the watch of {self.resource.plural} ended in its beginning")

    def _lists_from_now_on(self, why: str) -> None:
        log.debug("%s are listed: the server does not stream lists: %s", self.resource.plural, why)
        self._streams_lists = False

    async def _watch(self) -> None:
        async with self._opened(self._version) as events:
            self._well()
            await self._follow(events)

    def _opened(self, since: str) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
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
        """Take in what happens. Raises Expired when the server tells what was before."""
        since = int(self._version)
        async for event in events:
            document = event.document
            # What is deleted may be shown as it was; anything else is newer than what was asked
            # for, or the server counts from the beginning again and has not refused to go on.
            if 0 < version_of(document) < since and event.type != "DELETED":
                self._stale_lists = STALE_LISTS  # no replica that lags behind does so
                raise Expired(f"the watch from {since} tells of {version_of(document)}")
            self._version = _version_in(document)
            if self.trim is not None and event.type not in ("BOOKMARK", "DELETED"):
                event = Event(event.type, self.trim(document))
            if self.bound is not None:
                self.bound.follow(event)
            self._sink.take(event)


def _version_in(document: Document) -> str:
    """The resourceVersion of an event. Raises Unreachable where nothing can go on from it."""
    version: str = document["metadata"].get("resourceVersion") or ""
    if not version.isdecimal():
        raise Unreachable("an event has no resourceVersion")
    return version
