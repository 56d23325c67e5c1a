"""The verb watch: a stream of events from a resourceVersion or after the current state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from kapy.apiserver.ask import Ask
from kapy.apiserver.negotiation import Accept, accepted_of_stream
from kapy.apiserver.parameters import flag, whole
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import invalid_options
from kapy.apiserver.selection import selection
from kapy.apiserver.shown import partial_metadata
from kapy.apiserver.store.feed import Feed, Notice
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.reading import ahead, version_in_storage
from kapy.kube import Document
from kapy.kube.errors import ApiError, Expired
from kapy.kube.field_errors import FieldError, forbidden
from kapy.kube.http import Reply

_encode = msgspec.json.Encoder().encode
_BATCH = 64
_CHUNK = 256 * 1024
"""The most events (and about the most bytes) in one chunk of a stream; a slow client then stops the
server from encoding early.
"""

LIFE = 1800.0
"""The default timeout of a watch over the network in seconds, randomized up to twice this value,
like kube-apiserver's --min-request-timeout. Reconnecting clients spread over servers again.
"""

INITIAL_END = {"k8s.io/initial-events-end": "true"}


async def watch(plane: Plane, ask: Ask) -> Reply:
    """Start a stream of events for the objects that the request selects."""
    query = ask.request.query
    seconds: float = whole(query, "timeoutSeconds") or 0
    whole(query, "limit")
    initial = _initial(query)
    if seconds <= 0 and ask.request.arrival is not None and ask.request.arrival.peer:
        seconds = LIFE * (1 + plane.rng.random())
    chosen = selection(ask.kind, query, partial(_check_options, initial, query))
    version = version_in_storage(query.get("resourceVersion", ""))
    name = ask.name or chosen.name
    accept = _accepted(ask)
    table = plane.table(ask.kind)
    since = version or plane.store.revision
    known = range(plane.store.history.floor, plane.store.revision + 1)
    if since not in known:
        if not initial:
            return Reply(200, _Once(_gone(plane, since)))
        if since > plane.store.revision:
            return Reply(200, _Once(_error(ahead(plane, since))))
    feed = plane.store.follow(
        table,
        ask.namespace,
        name,
        chosen.match,
        max(since, plane.store.revision) if initial else since,
    )
    bookmarks = flag(query, "allowWatchBookmarks")
    if initial or (initial is None and not version):
        for document in list(table.scan(ask.namespace)):
            metadata = document["metadata"]
            if feed.wants(document, metadata.get("namespace", ""), metadata["name"]):
                feed.begin(Notice("ADDED", document, int(metadata["resourceVersion"])))
        if initial and bookmarks:
            feed.push(bookmark(ask, plane.store.revision, INITIAL_END))
    make = _Unlistable if accept.form == "PartialObjectMetadataList" else WatchStream
    stream = make(plane, ask, table, feed, accept, bookmarks=bookmarks)
    if seconds > 0:
        stream.end_after(seconds)
    return Reply(200, stream)


def _accepted(ask: Ask) -> Accept:
    """Return the event encoding that the client accepts. Raises NotAcceptable, BadRequest."""
    accept = accepted_of_stream(ask.request.headers)
    if accept.form == "Table":
        from kapy.apiserver.tables import check_include

        check_include(ask)
    return accept


def _initial(query: Mapping[str, str]) -> bool | None:
    """Report whether the watch starts with the current state.

    None: it starts with the events after a resourceVersion, and the query does not ask for the
    state.
    """
    if "sendInitialEvents" in query:
        return flag(query, "sendInitialEvents")
    if query.get("resourceVersionMatch") or query.get("resourceVersion", "") not in ("", "0"):
        return None
    return True


def _check_options(initial: bool | None, query: Mapping[str, str]) -> None:  # noqa: FBT001
    """Validate the options of a watch. initial: the result of `_initial`. Raises Invalid."""
    match = query.get("resourceVersionMatch", "")
    if initial and "sendInitialEvents" not in query:
        match = "NotOlderThan"  # kube-apiserver implies this for a watch without a resourceVersion
    errors: list[FieldError] = []
    if initial is not None and match != "NotOlderThan":
        errors.append(
            forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
        )
    if match and initial is None:
        errors.append(
            forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        )
    if match and match != "NotOlderThan":
        errors.append(
            FieldError(
                "FieldValueNotSupported",
                "resourceVersionMatch",
                'supported values: "NotOlderThan"',
                match,
            )
        )
    if match and query.get("continue"):
        why = "resourceVersionMatch is forbidden when continue is provided"
        errors.append(forbidden("resourceVersionMatch", why))
    if errors:
        raise invalid_options("ListOptions", errors)


def _gone(plane: Plane, since: int) -> Document:
    """Return the 410 Gone error for a resourceVersion that the server cannot resume from.

    It is too old, or newer than the store because an earlier run or a restored backup issued it.
    kube-apiserver waits for a newer version, since another replica may have issued it; this server
    is alone, so a watch that waited would miss events.
    """
    now = plane.store.revision
    if since > now:
        message = f"resource version {since} is not of this server, which is at {now}"
    else:
        message = f"too old resource version: {since} ({plane.store.history.floor})"
    return _error(Expired(message))


def _error(error: ApiError) -> Document:
    return {"type": "ERROR", "object": error.status()}


def bookmark(ask: Ask, revision: int, annotations: Mapping[str, str] | None = None) -> Notice:
    """Return a bookmark event with this resourceVersion."""
    metadata: Document = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    resource = ask.kind.resource
    document: Document = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": metadata,
    }
    return Notice("BOOKMARK", document, revision)


class _Once:
    """A stream of a single event."""

    def __init__(self, event: Document) -> None:
        self._events = [event]

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        if not self._events:
            raise StopAsyncIteration
        return self._events.pop()

    async def aclose(self) -> None:
        """Do nothing: the stream holds no resources."""


class WatchStream:
    """Watch events, each a document `{"type", "object"}`, until the client or the server ends the
    watch.

    ended: a callback that is called once when the watch has ended.
    """

    __slots__ = (
        "_accept",
        "_ask",
        "_events",
        "_feed",
        "_first",
        "_plane",
        "_table",
        "_timer",
        "_version",
        "bookmarks",
        "ended",
    )

    def __init__(
        self, plane: Plane, ask: Ask, table: Table, feed: Feed, accept: Accept, *, bookmarks: bool
    ) -> None:
        self._plane = plane
        self._ask = ask
        resource = ask.kind.resource
        self._version = resource.api_version
        self._events = plane.traffic.events_of(resource.api_version, resource.plural)
        self._table = table
        self._feed = feed
        self._accept = accept
        self._first = True
        self._timer: asyncio.TimerHandle | None = None
        self.bookmarks = bookmarks
        self.ended: list[Callable[[], None]] = []

    def end_after(self, seconds: float) -> None:
        """End the watch after `timeoutSeconds`."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self._feed.close)

    def when_closed(self, told: Callable[[], None] | None) -> None:
        """Set a callback for when the server ends the watch, even if the client no longer reads."""
        self._feed.on_close = told

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        notice = self._feed.ready()
        while True:
            if notice is None:
                notice = await self._feed.next()
            if notice is None:
                await self.aclose()
                raise StopAsyncIteration
            if notice.type != "BOOKMARK" or self.bookmarks:
                self._events.sent(0 if notice.happening is None else notice.happening.size)
                return {"type": notice.type, "object": await self._shown(notice)}
            notice = None

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield pending events as chunks of JSON lines; an event is encoded once for all its
        watchers.
        """
        plain = not self._accept.form
        parts: list[bytes] = []
        size = 0
        while True:
            notice = self._feed.ready()
            if notice is None or len(parts) >= _BATCH or size > _CHUNK:
                if parts:
                    yield b"".join(parts)
                    parts.clear()
                    size = 0
                if notice is None:
                    notice = await self._feed.next()
                if notice is None:
                    return
            if notice.type == "BOOKMARK" and not self.bookmarks:
                continue
            line = await self._line(notice, plain=plain)
            self._events.sent(len(line))
            size += len(line)
            parts.append(line)

    async def _line(self, notice: Notice, *, plain: bool) -> bytes:
        happening = notice.happening if plain else None
        if happening is not None and notice.document["apiVersion"] != self._version:
            happening = None
        if happening is not None:
            if happening.line:
                return happening.line
            if happening.after.encoded:
                return _event(notice.type, happening.after.encoded)
        elif plain and notice.type == "ADDED" and notice.document["apiVersion"] == self._version:
            encoded = self._table.encoded(notice.document)
            if encoded:
                return _event("ADDED", encoded)
        line = _encode({"type": notice.type, "object": await self._shown(notice)}) + b"\n"
        if happening is not None:
            happening.line = line
        return line

    async def _shown(self, notice: Notice) -> Document:
        kind, document = self._ask.kind, notice.document
        if notice.type == "BOOKMARK":
            resource = kind.resource
            document = {**document, "kind": resource.kind, "apiVersion": resource.api_version}
            document = kind.schema.decoded(document, []) if not kind.custom else document
        else:
            (document,) = await self._plane.in_version((document,), kind.resource)
        if not self._accept.form:
            return document
        return self._formed(document)

    def _formed(self, document: Document) -> Document:
        if self._accept.form == "Table":
            from kapy.apiserver.tables import table

            version = {"resourceVersion": document["metadata"]["resourceVersion"]}
            shown = table(self._ask, (document,), self._accept.version, version, self._plane.clock)
            if not self._first:
                shown["columnDefinitions"] = None
            self._first = False
            return shown
        return partial_metadata(document, self._accept.version)

    async def aclose(self) -> None:
        """Stop the watch."""
        if self._timer is not None:
            self._timer.cancel()
        self._plane.store.leave(self._table, self._feed)
        ended, self.ended = self.ended, []
        if ended and self._feed.overflown:
            self._plane.traffic.cut[self._table.name] += 1
        for told in ended:
            told()


class _Unlistable(WatchStream):
    """A watch whose client accepts only lists; its first event ends it with an error."""

    __slots__ = ()

    async def __anext__(self) -> Document:
        notice = await self._feed.next()
        while notice is not None and notice.type == "BOOKMARK" and not self.bookmarks:
            notice = await self._feed.next()
        await self.aclose()
        raise StopAsyncIteration

    async def lines(self) -> AsyncIterator[bytes]:
        async for event in self:
            yield _encode(event) + b"\n"


def _event(change: str, encoded: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (change.encode(), encoded)


def events_of(value: Any) -> AsyncIterator[Document]:
    """Return a Reply's body as an event stream, for callers that know it is one."""
    stream: AsyncIterator[Document] = value
    return stream
