"""The verb watch: a stream of events from a resourceVersion or after the current state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from kapy.apiserver.errors import invalid_parameters
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.negotiation import MediaType, negotiate_stream
from kapy.apiserver.request.parameters import bool_parameter, int_parameter
from kapy.apiserver.request.selection import parse_selection
from kapy.apiserver.store.table import Table
from kapy.apiserver.store.watcher import Watcher, WatchEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.read import (
    by_name,
    decode_in_turns,
    parse_storage_version,
    too_large_error,
)
from kapy.apiserver.verbs.serialization import partial_metadata
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


async def watch(server: ServerContext, context: RequestContext) -> Reply:
    """Start a stream of events for the objects that the request selects."""
    query = context.request.query
    seconds: float = int_parameter(query, "timeoutSeconds") or 0
    int_parameter(query, "limit")
    initial = _sends_initial_events(query)
    if seconds <= 0 and context.request.arrival is not None and context.request.arrival.peer:
        seconds = LIFE * (1 + server.rng.random())
    chosen = parse_selection(context.kind, query, partial(_check_options, initial, query))
    version = parse_storage_version(query.get("resourceVersion", ""))
    name = context.name or chosen.name
    accept = _negotiate(context)
    table = server.table(context.kind)
    with_state = initial or (initial is None and not version)
    if with_state and not name:
        await decode_in_turns(table, context.namespace)
    since = version or server.store.revision
    available = range(server.store.history.floor, server.store.revision + 1)
    if since not in available:
        if not initial:
            return Reply(200, _SingleEvent(_expired_error(server, since)))
        if since > server.store.revision:
            return Reply(200, _SingleEvent(_error(too_large_error(server, since))))
    watcher = server.store.watch(
        table,
        context.namespace,
        name,
        chosen.match,
        max(since, server.store.revision) if initial else since,
    )
    bookmarks = bool_parameter(query, "allowWatchBookmarks")
    if with_state:
        _add_state(watcher, table, context.namespace, name)
        if initial and bookmarks:
            watcher.push(bookmark(context, server.store.revision, INITIAL_END))
    make = _ListOnlyStream if accept.form == "PartialObjectMetadataList" else WatchStream
    stream = make(server, context, table, watcher, accept, bookmarks=bookmarks)
    if seconds > 0:
        stream.end_after(seconds)
    return Reply(200, stream)


def _add_state(watcher: Watcher, table: Table, namespace: str, name: str) -> None:
    """Queue the current objects of a watch."""
    state = by_name(table, namespace, name) if name else table.scan(namespace)
    for document in list(state):
        metadata = document["metadata"]
        if watcher.matches(document, metadata.get("namespace", ""), metadata["name"]):
            watcher.add_initial(WatchEvent("ADDED", document, int(metadata["resourceVersion"])))


def _negotiate(context: RequestContext) -> MediaType:
    """Return the event encoding that the client accepts. Raises NotAcceptable, BadRequest."""
    accept = negotiate_stream(context.request.headers)
    if accept.form == "Table":
        from kapy.apiserver.verbs.tables import check_include

        check_include(context)
    return accept


def _sends_initial_events(query: Mapping[str, str]) -> bool | None:
    """Report whether the watch starts with the current state.

    Returns None for a watch that starts after a resourceVersion and does not ask for the state.
    """
    if "sendInitialEvents" in query:
        return bool_parameter(query, "sendInitialEvents")
    if query.get("resourceVersionMatch") or query.get("resourceVersion", "") not in ("", "0"):
        return None
    return True


def _check_options(initial: bool | None, query: Mapping[str, str]) -> None:  # noqa: FBT001
    """Validate the options of a watch. initial: the result of `_sends_initial_events`. Raises
    Invalid.
    """
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
        raise invalid_parameters("ListOptions", errors)


def _expired_error(server: ServerContext, since: int) -> Document:
    """Return the 410 Gone error for a resourceVersion that the server cannot resume from.

    It is too old, or newer than the store because an earlier run or a restored backup issued it.
    kube-apiserver waits for a newer version, since another replica may have issued it; this server
    is alone, so a watch that waited would miss events.
    """
    now = server.store.revision
    if since > now:
        message = f"resource version {since} is not of this server, which is at {now}"
    else:
        message = f"too old resource version: {since} ({server.store.history.floor})"
    return _error(Expired(message))


def _error(error: ApiError) -> Document:
    return {"type": "ERROR", "object": error.status()}


def bookmark(
    context: RequestContext, revision: int, annotations: Mapping[str, str] | None = None
) -> WatchEvent:
    """Return a bookmark event with the resourceVersion `revision`."""
    metadata: Document = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    resource = context.kind.resource
    document: Document = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": metadata,
    }
    return WatchEvent("BOOKMARK", document, revision)


class _SingleEvent:
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
        "_first",
        "_server",
        "_table",
        "_timer",
        "_version",
        "_watcher",
        "bookmarks",
        "ended",
    )

    def __init__(
        self,
        server: ServerContext,
        context: RequestContext,
        table: Table,
        watcher: Watcher,
        accept: MediaType,
        *,
        bookmarks: bool,
    ) -> None:
        self._server = server
        self._ask = context
        resource = context.kind.resource
        self._version = resource.api_version
        self._events = server.metrics.events_of(resource.api_version, resource.plural)
        self._table = table
        self._watcher = watcher
        self._accept = accept
        self._first = True
        self._timer: asyncio.TimerHandle | None = None
        self.bookmarks = bookmarks
        self.ended: list[Callable[[], None]] = []

    def end_after(self, seconds: float) -> None:
        """End the watch after `timeoutSeconds`."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self._watcher.close)

    def when_closed(self, value: Callable[[], None] | None) -> None:
        """Set a callback for when the server ends the watch, even if the client no longer reads."""
        self._watcher.on_close = value

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        notice = self._watcher.ready()
        while True:
            if notice is None:
                notice = await self._watcher.next()
            if notice is None:
                await self.aclose()
                raise StopAsyncIteration
            if notice.type != "BOOKMARK" or self.bookmarks:
                self._events.count_event(0 if notice.happening is None else notice.happening.size)
                return {"type": notice.type, "object": await self._to_object(notice)}
            notice = None

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield pending events as chunks of JSON lines; an event is encoded once for all its
        watchers.
        """
        plain = not self._accept.form
        parts: list[bytes] = []
        size = 0
        while True:
            notice = self._watcher.ready()
            if notice is None or len(parts) >= _BATCH or size > _CHUNK:
                if parts:
                    yield b"".join(parts)
                    parts.clear()
                    size = 0
                if notice is None:
                    notice = await self._watcher.next()
                if notice is None:
                    return
            if notice.type == "BOOKMARK" and not self.bookmarks:
                continue
            line = await self._line(notice, plain=plain)
            self._events.count_event(len(line))
            size += len(line)
            parts.append(line)

    async def _line(self, notice: WatchEvent, *, plain: bool) -> bytes:
        happening = notice.happening if plain else None
        if happening is not None and notice.document["apiVersion"] != self._version:
            happening = None
        if happening is not None:
            if happening.line:
                return happening.line
            if encoded := happening.after.encoded:
                return _event(notice.type, encoded)
        elif plain and notice.type == "ADDED" and notice.document["apiVersion"] == self._version:
            encoded = self._table.find_encoding(notice.document)
            if encoded:
                return _event("ADDED", encoded)
        line = _encode({"type": notice.type, "object": await self._to_object(notice)}) + b"\n"
        if happening is not None:
            happening.line = line
        return line

    async def _to_object(self, notice: WatchEvent) -> Document:
        kind, document = self._ask.kind, notice.document
        if notice.type == "BOOKMARK":
            resource = kind.resource
            document = {**document, "kind": resource.kind, "apiVersion": resource.api_version}
            document = kind.schema.decode(document, []) if not kind.custom else document
        else:
            (document,) = await self._server.converter.to_version((document,), kind.resource)
        if not self._accept.form:
            return document
        return self._transform(document)

    def _transform(self, document: Document) -> Document:
        if self._accept.form == "Table":
            from kapy.apiserver.verbs.tables import object_table

            version = {"resourceVersion": document["metadata"]["resourceVersion"]}
            table = object_table(
                self._ask, (document,), self._accept.version, version, self._server.clock
            )
            if not self._first:
                table["columnDefinitions"] = None
            self._first = False
            return table
        return partial_metadata(document, self._accept.version)

    async def aclose(self) -> None:
        """End the watch, and close its watcher in the store."""
        if self._timer is not None:
            self._timer.cancel()
        self._server.store.unwatch(self._table, self._watcher)
        ended, self.ended = self.ended, []
        if ended and self._watcher.overflown:
            self._server.metrics.cut[self._table.name] += 1
        for item in ended:
            item()


class _ListOnlyStream(WatchStream):
    """A watch whose client accepts only lists; its first event ends it with an error."""

    __slots__ = ()

    async def __anext__(self) -> Document:
        notice = await self._watcher.next()
        while notice is not None and notice.type == "BOOKMARK" and not self.bookmarks:
            notice = await self._watcher.next()
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
