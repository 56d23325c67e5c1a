"""An extension as an ASGI application: any ASGI server runs it, another application can mount it.

Besides its hooks it answers GET /healthz, /readyz and /metrics. A hook answers with status 200
whatever it says; failures are in the response, as upstream's server puts them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from kapy._aio.asgi import Receive, Scope, Send, body_of, live, reply
from kapy.hooks.extension import MAX_BODY, Extension
from kapy.hooks.served import Served
from kapy.kube.prometheus import text_of

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
            await live(receive, send)
        elif scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            if scope["method"] == "GET":
                await reply(send, *self._looked_up(path))
            else:
                await reply(send, *await self._answered(scope["method"], path, receive))

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
        answered = await self.extension.answer(path, await body_of(receive, MAX_BODY))
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
