"""A plane whose controllers reach its API server as if a network were between them.

Requests, answers and watch events are JSON on their way, so the controllers share no document with
the server, and their caches keep what caches over a network keep (`kapy.engine.transform`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from kapy.apiserver.server import Server
from kapy.apps.all_in_one import CONTROLLERS
from kapy.kube import Document
from kapy.kube.http import Reply, Request, Transport, User


class Networked:
    """A transport over JSON that takes no time."""

    over_network = True

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def __call__(self, request: Request) -> Reply:
        if request.body is not None and not isinstance(request.body, bytes):
            request.body = msgspec.json.encode(request.body)
        reply = await self._transport(request)
        if isinstance(reply.body, dict):
            reply.body = msgspec.json.encode(reply.body)
            reply.headers = {"content-type": "application/json", **reply.headers}
        elif not isinstance(reply.body, bytes):
            reply.body = _Copied(reply.body)
        return reply


@contextmanager
def controllers_behind(
    monkeypatch: pytest.MonkeyPatch,
    *,
    network: bool,
    wrap: Callable[[Transport], Transport] = lambda value: value,
) -> Iterator[None]:
    """Planes that start in here have their controllers behind a network, or in the process.

    wrap: put around the transport, to note requests.
    """
    transport = Server.transport

    def of_user(server: Server, user: User) -> Transport:
        result = transport(server, user)
        if user is not CONTROLLERS:
            return result
        return Networked(wrap(result)) if network else wrap(result)

    with monkeypatch.context() as patch:
        patch.setattr(Server, "transport", of_user)
        yield


class _Copied:
    """A stream of documents, each of them a copy."""

    def __init__(self, stream: AsyncIterator[Any]) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Document:
        event = await anext(self._stream)
        document: Document = msgspec.json.decode(msgspec.json.encode(event))
        return document

    async def aclose(self) -> None:
        await self._stream.aclose()  # type: ignore[attr-defined]
