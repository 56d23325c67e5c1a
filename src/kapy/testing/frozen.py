"""Documents that cannot be changed: an attempt to mutate a shared document fails at once.

    client = Client(Frozen(server.transport(ADMIN)))

Frozen maps and lists can be read, encoded and decoded like dicts and lists. `copy.deepcopy`,
`{**document}` and `msgspec.convert` return mutable copies.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from typing import Any, Final, NoReturn

from kapy.client.intercept import Interceptor
from kapy.kube import Document
from kapy.kube.http import Reply, Request, Transport

REMEMBERED: Final = 10_000


class SharedDocumentChanged(TypeError):
    """Code has changed a document that other code reads as well."""


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise SharedDocumentChanged(
        "a document that was read is shared and must not be changed: copy it first"
    )


class FrozenDict(dict[str, Any]):
    """A map that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}


class FrozenList(list[Any]):
    """A list that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = __iadd__ = __imul__ = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]


def freeze(value: Any) -> Any:
    """Return an immutable deep copy of a document; a part that is frozen already is not copied."""
    kind = type(value)
    if kind is dict:
        return FrozenDict(
            {key: freeze(item) if type(item) in _OPEN else item for key, item in value.items()}
        )
    if kind is list:
        return FrozenList([freeze(item) if type(item) in _OPEN else item for item in value])
    return value


_OPEN: Final = frozenset({dict, list})
"""The mutable types of a document. Values of other types need no call of `freeze`, which tests run
on all that they read."""


class Frozen(Interceptor):
    """A transport whose answers and events are frozen."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        # By identity, and with the original, so that its `id` is not reused. The server hands out
        # the same document many times, and each time would otherwise be a copy.
        self._frozen: dict[int, tuple[Document, Document]] = {}

    async def __call__(self, request: Request) -> Reply:
        reply = await self.transport(request)
        body = reply.body
        if isinstance(body, dict):
            items = body.get("items")
            if isinstance(items, list):
                shared = {**body, "items": FrozenList([self._once(item) for item in items])}
                return Reply(reply.status, freeze(shared), reply.headers)
            return Reply(reply.status, self._once(body), reply.headers)
        if isinstance(body, bytes) or "watch" not in request.query:
            return reply
        return Reply(reply.status, _FrozenEvents(body, self._once), reply.headers)

    def _once(self, document: Document) -> Document:
        entry = self._frozen.get(id(document))
        if entry is None:
            if len(self._frozen) >= REMEMBERED:
                self._frozen.clear()
            entry = self._frozen[id(document)] = (document, freeze(document))
        return entry[1]


class _FrozenEvents:
    def __init__(self, events: Any, once: Any) -> None:
        self._events = events
        self._once = once

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        event = await self._events.__anext__()
        return {**event, "object": self._once(event["object"])}

    async def aclose(self) -> None:
        await self._events.aclose()
