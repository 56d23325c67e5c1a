"""Building blocks of small ASGI applications: request body, reply, lifespan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


async def read_body(receive: Receive, max_bytes: int) -> bytes:
    """Read the request body; returns at most one byte more than the limit, and nothing of a body
    that the client did not send to its end."""
    parts: list[bytes] = []
    size, more = 0, True
    while more and size <= max_bytes:
        event = await receive()
        if event["type"] == "http.disconnect":
            return b""
        part = event.get("body", b"")
        parts.append(part)
        size += len(part)
        more = event.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def send_reply(send: Send, status: int, kind: bytes, body: bytes) -> None:
    """Send a complete response."""
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def run_lifespan(receive: Receive, send: Send) -> None:
    """Handle the lifespan protocol."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
