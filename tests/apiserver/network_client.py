"""Requests over ASGI without a socket, as the listener hands them to the application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application

TOKENS = {
    "root": authenticated_user("root", ("system:masters",)),
    "ann": authenticated_user("ann", ("team",)),
}


@dataclass
class Answer:
    """The response to a request."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


class Calls:
    """The clients of one server. disconnected: set to let all of them go away."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.application = Application(server, Authenticator(TOKENS))
        self.disconnected = asyncio.Event()

    async def call(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        token: str = "root",
        chunks: Sequence[bytes] = (),
        **headers: str,
    ) -> Answer:
        """One request. headers: with `_` for `-`. chunks: a body that comes in parts."""
        raw = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["authorization"] = f"Bearer {token}"
        if chunks:
            sent["transfer-encoding"] = "chunked"
        elif raw:
            sent.setdefault("content-type", "application/json")
            sent["content-length"] = str(len(raw))
        path, _, query = target.partition("?")
        messages: list[Mapping[str, Any]] = []

        async def send(message: Mapping[str, Any]) -> None:
            messages.append(message)

        await self.application(
            {
                "type": "http",
                "method": method,
                "path": path,
                "raw_path": path.encode(),
                "query_string": query.encode(),
                "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
                "client": ("192.0.2.7", 4711),
                "state": {},
            },
            self._receiving(list(chunks) or [raw]),
            send,
        )
        start, *rest = messages
        entries = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], entries, b"".join(entry["body"] for entry in rest))

    def _receiving(self, parts: list[bytes]) -> Any:
        async def receive() -> dict[str, Any]:
            if parts:
                part = parts.pop(0)
                return {"type": "http.request", "body": part, "more_body": bool(parts)}
            await self.disconnected.wait()
            return {"type": "http.disconnect"}

        return receive
