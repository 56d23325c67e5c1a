"""An extension as an ASGI application: any ASGI server runs it, another application can mount it.

Besides its hooks it answers GET /healthz, /readyz and /metrics. A hook answers with status 200
whatever it says; failures are in the response, as upstream's server puts them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from kapy.hooks.extension import MAX_BODY, Extension
from kapy.hooks.served import Served
from kapy.kube.prometheus import text_of

Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]

_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain; charset=utf-8"
_METRICS: Final = b"text/plain; version=0.0.4; charset=utf-8"

_log = logging.getLogger(__name__)


class Application:
    """The ASGI application of one extension."""

    def __init__(self, extension: Extension) -> None:
        self.extension = extension
        self.ready = True
        self._served = Served()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            if scope["method"] == "GET":
                await _reply(send, *self._looked_up(path))
            else:
                await _reply(send, *await self._answered(scope["method"], path, receive))

    def _looked_up(self, path: str) -> tuple[int, bytes, bytes]:
        if path == "/healthz":
            return 200, _TEXT, b"ok"
        if path == "/readyz":
            return (200, _TEXT, b"ok") if self.ready else (503, _TEXT, b"stopping")
        if path == "/metrics":
            return 200, _METRICS, text_of(list(self._served.collect()))
        return _nothing(path)

    async def _answered(self, method: str, path: str, receive: Receive) -> tuple[int, bytes, bytes]:
        if method != "POST":
            return 405, _JSON, _said(f"hooks are called with POST, not with {method}")
        started = asyncio.get_running_loop().time()
        answered = await self.extension.answer(path, await _body(receive))
        if answered is None:
            return _nothing(path)
        seconds = asyncio.get_running_loop().time() - started
        route = answered.route
        self._served.answered(route, answered.status, seconds)
        _log.info(
            "%s %s: %s in %.1f ms", route.hook.name, route.name, answered.status, 1000 * seconds
        )
        return 200, _JSON, answered.body


def _nothing(path: str) -> tuple[int, bytes, bytes]:
    return 404, _JSON, _said(f"no handler is at {path}; Discovery lists those that there are")


def _said(message: str) -> bytes:
    return msgspec.json.encode({"status": "Failure", "message": message})


async def _body(receive: Receive) -> bytes:
    """A request's body, up to a little more than is allowed."""
    parts: list[bytes] = []
    size, more = 0, True
    while more and size <= MAX_BODY:
        event = await receive()
        part = event.get("body", b"")
        parts.append(part)
        size += len(part)
        more = event.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _reply(send: Send, status: int, kind: bytes, body: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
