"""The queue of one watcher: bounded, filtered, and closed if the reader is too slow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.kube import Document

Matcher = Callable[[Document], bool]

LIMIT = 20_000
BYTES = 16 * 1024 * 1024
"""The most events, and bytes of their JSON, that may wait for one reader. The events are shared by
all readers of a resource, so the limits are generous; they prevent that old objects stay in memory
for ever.
"""


class WatchEvent(Struct):
    """A watch event for a reader: type, object, revision, and the write that caused it."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    document: Document
    revision: int
    happening: WriteEvent | None = None


class Watcher:
    """One reader's watch of a table, with the events that it has not read yet.

    Iteration waits for the next WatchEvent. It ends when the watcher is closed: by the reader, by
    the server on shutdown, or because too many events wait (`overflown`). on_close: called when the
    watcher is closed. revision: the latest one that the reader knows of when it has read all
    events.
    """

    __slots__ = (
        "_bytes",
        "_closed",
        "_limit",
        "_name",
        "_namespace",
        "_queue",
        "_waiter",
        "match",
        "on_close",
        "overflown",
        "revision",
    )

    def __init__(self, namespace: str, name: str, match: Matcher | None, revision: int = 0) -> None:
        self._namespace = namespace
        self._name = name
        self.match = match
        self._queue: deque[WatchEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        self._bytes = 0
        self._limit = LIMIT
        self.overflown = False
        self.revision = revision
        self.on_close: Callable[[], None] | None = None

    def matches(self, document: Document, namespace: str, name: str) -> bool:
        """Report whether an object matches the namespace, name and selector of the watch."""
        if self._namespace and namespace != self._namespace:
            return False
        if self._name and name != self._name:
            return False
        return self.match is None or self.match(document)

    def dispatch(self, event: WriteEvent) -> None:
        """Queue the event of a write if it concerns this reader."""
        if (self._namespace and event.namespace != self._namespace) or (
            self._name and event.name != self._name
        ):
            return
        match = self.match
        document = event.document
        if match is None:
            self.push(WatchEvent(event.change, document, event.revision, event))
            return
        now = event.change != "DELETED" and match(document)
        previous = event.previous
        before = previous is not None and match(previous)
        if now:
            change: Literal["ADDED", "MODIFIED"] = "MODIFIED" if before else "ADDED"
            same = event if change == event.change else None
            self.push(WatchEvent(change, document, event.revision, same))
        elif before and event.change == "DELETED":
            self.push(WatchEvent("DELETED", document, event.revision, event))
        elif before and previous is not None:
            self.push(
                WatchEvent("DELETED", with_revision(previous, event.revision), event.revision)
            )

    def add_initial(self, notice: WatchEvent) -> None:
        """Queue an event of the initial state, which does not count towards the limit."""
        self._limit += 1
        self.push(notice)

    def push(self, notice: WatchEvent) -> None:
        """Queue one event, unless the watcher is closed. Close the watcher if the reader is too
        slow.
        """
        if self._closed:
            return
        happening = notice.happening
        if happening is not None:
            self._bytes += happening.size
        if len(self._queue) >= self._limit or self._bytes > BYTES:
            self.overflown = True
            self.close()
            return
        self._queue.append(notice)
        self.revision = max(self.revision, notice.revision)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Close the watcher. Queued events can still be read, except after an overflow."""
        if self.overflown:
            self._queue.clear()
        self._closed = True
        self._wake()
        result, self.on_close = self.on_close, None
        if result is not None:
            result()

    @property
    def closed(self) -> bool:
        return self._closed

    def ready(self) -> WatchEvent | None:
        """Return the next queued event, None if there is none. It does not wait."""
        return self._take() if self._queue else None

    def _take(self) -> WatchEvent:
        notice = self._queue.popleft()
        happening = notice.happening
        if happening is not None:
            self._bytes -= happening.size
        return notice

    async def next(self) -> WatchEvent | None:
        """Wait for the next event; return None when the watcher is closed."""
        while not self._queue:
            if self._closed:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._take()


def with_revision(document: Document, revision: int) -> Document:
    """Return a shallow copy of a document with another resourceVersion."""
    metadata = {**document["metadata"], "resourceVersion": str(revision)}
    return {**document, "metadata": metadata}
