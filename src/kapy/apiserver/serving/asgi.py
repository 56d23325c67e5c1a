"""The ASGI side of a Server: bytes in and out, nothing decided."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from kapy.apiserver.authentication import Authentication
from kapy.apiserver.body import LIMIT
from kapy.apiserver.impersonation import wish_of
from kapy.apiserver.server import Server
from kapy.apiserver.verbs.watching import WatchStream
from kapy.kube.errors import ApiError, TooLarge
from kapy.kube.http import Reply, Request

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_encode = msgspec.json.Encoder().encode
_JSON = b"application/json"


class Application:
    """One Server as an ASGI application.

    `stop` ends all streams, so that open watches do not hold up the end of the process.
    """

    def __init__(self, server: Server, authentication: Authentication | None = None) -> None:
        self._server = server
        self._authentication = authentication or Authentication()
        server.access.authenticate_by(self._authentication)
        self._streams: set[WatchStream] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        headers = _headers(scope["headers"])
        try:
            user = self._authentication.user(
                headers.get("authorization", ""), scope.get("state", {}).get("peer")
            )
            wish = wish_of(scope["headers"])
            body = await _body(headers, receive)
        except ApiError as error:
            await _send(send, scope, Reply(error.code, error.status()))
            return
        if body is None:
            return
        query = scope["query_string"]
        request = Request(
            scope["method"], scope["path"], _query(query) if query else {}, headers, body, user
        )
        if wish is not None:
            try:
                request.user = self._server.access.impersonated(request, user, wish)
            except ApiError as error:
                await _send(send, scope, Reply(error.code, error.status()))
                return
        reply = await self._server(request)
        if isinstance(reply.body, dict | bytes):
            await _send(send, scope, reply)
        else:
            await self._stream(reply, receive, send)

    async def _stream(self, reply: Reply, receive: Receive, send: Send) -> None:
        stream: Any = reply.body
        await send(_start(reply.status, _JSON, reply.headers, None))
        if not isinstance(stream, WatchStream):
            async for event in stream:
                await send({"type": "http.response.body", "body": _line(event), "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return
        self._streams.add(stream)
        try:
            async with asyncio.TaskGroup() as group:
                leaving = group.create_task(_until_gone(receive, stream))
                async for lines in stream.lines():
                    await send({"type": "http.response.body", "body": lines, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
                leaving.cancel()
        finally:
            self._streams.discard(stream)
            await stream.aclose()

    async def stop(self) -> None:
        """End all watches."""
        for stream in list(self._streams):
            await stream.aclose()


async def _until_gone(receive: Receive, stream: WatchStream) -> None:
    """End a watch when its client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    await stream.aclose()


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def _query(raw: bytes) -> dict[str, str]:
    query: dict[str, str] = {}
    for key, value in parse_qsl(raw.decode("latin-1"), keep_blank_values=True):
        query.setdefault(key, value)
    return query


async def _body(headers: Mapping[str, str], receive: Receive) -> bytes | None:
    """The whole body; None when the client went away. Raises TooLarge."""
    length = headers.get("content-length")
    if length is None and "transfer-encoding" not in headers:
        return b""
    if length == "0":
        return b""
    if length is not None and length.isdigit() and int(length) > LIMIT:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > LIMIT:
            raise _too_large()
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large() -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {LIMIT}")


def _line(event: Any) -> bytes:
    return event if isinstance(event, bytes) else _encode(event) + b"\n"


async def _send(send: Send, scope: Scope, reply: Reply) -> None:
    body = reply.body
    if isinstance(body, bytes):
        content, kind = body, reply.headers.get("content-type", "").encode()
    elif _wants_yaml(scope):
        content, kind = _yaml(body), b"application/yaml"
    else:
        content, kind = _encode(body), reply.headers.get("content-type", "").encode() or _JSON
    await send(_start(reply.status, kind, reply.headers, len(content)))
    await send(
        {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content}
    )


def _wants_yaml(scope: Scope) -> bool:
    accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return bool(accept.startswith(b"application/yaml"))


def _yaml(document: Any) -> bytes:
    from kapy.kube import yaml

    return yaml.dump(document).encode()


def _start(
    status: int, kind: bytes, headers: Mapping[str, str], length: int | None
) -> dict[str, Any]:
    out: list[tuple[bytes, bytes]] = [(b"content-type", kind)] if kind else []
    if length is not None:
        out.append((b"content-length", b"%d" % length))
    for name, value in headers.items():
        if name == "warning":
            out += [(b"warning", one.encode("utf-8")) for one in value.split("\n")]
        elif name != "content-type":
            out.append((name.encode(), value.encode("latin-1")))
    return {"type": "http.response.start", "status": status, "headers": out}
