"""A watch as callers of the client see it: events, and the server's errors as exceptions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final, Literal, NamedTuple, get_args

from kapy.client.reply import failure_of
from kapy.client.response_validation import check_object, code_of, invalid_answer
from kapy.kube import Document
from kapy.kube.errors import error_of
from kapy.kube.http import Request, Transport

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
_TYPES: Final = get_args(EventType)


class Event(NamedTuple):
    """One watch event; `document` is shared, do not change it."""

    type: EventType
    document: Document


class EventStream:
    """An open watch: `async with` opens it and closes it, `async for` yields its events.

    If the server ends the watch, the iteration just ends; an ERROR event is raised as its ApiError
    (`Expired` if the resourceVersion is too old).
    """

    def __init__(self, transport: Transport, request: Request) -> None:
        self._transport = transport
        self._request = request
        self._body: Any = None

    async def __aenter__(self) -> AsyncIterator[Event]:
        reply = await self._transport(self._request)
        if reply.status >= 400:
            raise failure_of(reply)
        if isinstance(reply.body, (dict, bytes)):
            raise error_of(502, {"message": "the server answered a watch with one document"})
        self._body = reply.body
        return self

    async def __aexit__(self, *_: object) -> None:
        body, self._body = self._body, None
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._body is None:
            raise StopAsyncIteration
        event = await self._body.__anext__()
        kind, document = event.get("type"), event.get("object")
        if kind == "ERROR" and isinstance(document, dict):
            raise error_of(code_of(document), document)
        if kind not in _TYPES:
            raise invalid_answer(f"an event has the type {str(kind)[:20]!r}")
        check_object(document)
        return Event(kind, document)
