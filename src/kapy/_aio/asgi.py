"""The little that a small ASGI application needs: a body, a reply, a life."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


async def read_body(receive: Receive, max_bytes: int) -> bytes:
    """A request's body, up to a little more than `most` bytes."""
    parts: list[bytes] = []
    size, more = 0, True
    while more and size <= max_bytes:
        event = await receive()
        part = event.get("body", b"")
        parts.append(part)
        size += len(part)
        more = event.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def send_reply(send: Send, status: int, kind: bytes, body: bytes) -> None:
    """A whole answer. kind: its media type."""
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def run_lifespan(receive: Receive, send: Send) -> None:
    """Agree to everything that happens in an application's life, which needs nothing."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
