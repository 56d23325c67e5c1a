"""Servers that are asked: the embedded one in this process, and any other one over HTTPS."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from unittest.mock import patch
from urllib.parse import quote, unquote, urlencode

import aiohttp
from yarl import URL

from kapy._aio.clock import Clock
from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.controllers.cluster_roles import ClusterRoleAggregation
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application
from kapy.apiserver.verbs.context import ServerContext
from tests.differential.case import Json

KEPT_HEADERS: Final = ("Content-Type", "Warning", "Retry-After")
TOKENS: Final = {"admin": "admin-token", "alice": "alice-token", "bad": "no-such-token"}
LONGEST: Final = 60.0
PATIENCE: Final = 60.0


@dataclass
class Opened:
    """A watch: the server's first answer, and the events that came until now.

    leave: ends it.
    """

    answer: Json
    events: list[Json] = field(default_factory=list)
    ended: bool = False
    parted: bytes = b""
    leave: Callable[[], object] = bool

    def feed(self, data: bytes) -> None:
        """Take a part of the stream."""
        *lines, self.parted = (self.parted + data).split(b"\n")
        self.events.extend(_event(line) for line in lines if line)

    def end(self) -> None:
        """The stream is over; what a plain answer has need not end a line."""
        self.feed(b"\n")
        self.ended = True


def _event(line: bytes) -> Json:
    """One line of a stream, which is no JSON where another form was asked for."""
    try:
        return json.loads(line)
    except ValueError:
        return {"type": "TEXT", "object": {"line": line.decode("utf-8", "replace")}}


class Peer(Protocol):
    """A server that is asked."""

    async def call(self, request: Json) -> Json:
        """The answer to the `request` of a step."""

    async def watch(self, request: Json) -> Opened:
        """The answer to the `watch` of a step; its events follow."""


def target_of(request: Json) -> str:
    """Path and query as they are sent."""
    query = urlencode(request.get("query", {}), doseq=True, quote_via=quote)
    return quote(request["path"], safe="/:%@") + (f"?{query}" if query else "")


def sent(request: Json) -> tuple[dict[str, str], bytes | None]:
    """Headers and body of a request, as the recording's tool sends them."""
    headers = {"User-Agent": "oracle/1.0", "Accept": "application/json"}
    if token := TOKENS.get(request.get("as", "admin")):
        headers["Authorization"] = f"Bearer {token}"
    body = request.get("raw")
    if "body" in request and body is None:
        body = json.dumps(request["body"], ensure_ascii=False)
    if body is not None:
        headers["Content-Type"] = "application/json"
    headers |= request.get("headers", {})
    headers_sent = {name: value for name, value in headers.items() if value}
    return headers_sent, None if body is None else body.encode()


def reply(status: int, headers: list[tuple[str, str]], data: bytes | None) -> Json:
    """Return the part of an answer that is compared."""
    headers_compared: dict[str, Json] = {}
    for name in KEPT_HEADERS:
        values = [value for key, value in headers if key.lower() == name.lower()]
        if values:
            headers_compared[name] = values if name == "Warning" else values[0]
    answer: dict[str, Json] = {"status": status, "headers": headers_compared}
    if data is not None:
        text = data.decode("utf-8", "replace")
        try:
            answer["body"] = json.loads(text)
        except ValueError:
            answer["body"] = text
    return answer


class Remote:
    """A server over HTTPS."""

    def __init__(self, url: str, session: aiohttp.ClientSession, tasks: asyncio.TaskGroup) -> None:
        self._url, self._session, self._tasks = url, session, tasks
        self._opened: set[asyncio.Task[None]] = set()

    def leave(self) -> None:
        """End all watches that are still open."""
        for task in self._opened:
            task.cancel()

    async def call(self, request: Json) -> Json:
        async with asyncio.timeout(PATIENCE), self._asked(request) as response:
            data = await response.read()
        return reply(response.status, list(response.headers.items()), data)

    async def watch(self, request: Json) -> Opened:
        response = await self._asked({"method": "GET", **request})
        headers = list(response.headers.items())
        if response.status != 200:
            return Opened(reply(response.status, headers, await response.read()), ended=True)
        opened = Opened(reply(response.status, headers, None))
        following = self._tasks.create_task(self._follow(response, opened))
        self._opened.add(following)
        following.add_done_callback(self._opened.discard)
        opened.leave = following.cancel
        return opened

    async def _follow(self, response: aiohttp.ClientResponse, opened: Opened) -> None:
        try:
            async for part in response.content.iter_any():
                opened.feed(part)
        except (aiohttp.ClientError, TimeoutError) as error:
            opened.events.append({"type": "BROKEN", "object": {"error": str(error)}})
        finally:
            opened.end()
            response.close()

    def _asked(self, request: Json) -> Any:
        headers, body = sent(request)
        return self._session.request(
            request["method"],
            URL(self._url + target_of(request), encoded=True),
            headers=headers,
            data=body,
            skip_auto_headers=("Content-Type", "Accept", "User-Agent", "Accept-Encoding"),
        )


@asynccontextmanager
async def remote(url: str, ca: str) -> AsyncIterator[Remote]:
    """A server over HTTPS. ca: its authority's certificate (PEM)."""
    tls = ssl.create_default_context(cadata=ca)
    connector = aiohttp.TCPConnector(ssl=tls, limit=0)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=LONGEST, sock_read=LONGEST)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
        asyncio.TaskGroup() as tasks,
    ):
        peer = Remote(url, session, tasks)
        try:
            yield peer
        finally:
            peer.leave()
            await session.close()


class Embedded:
    """The embedded server, asked over ASGI: bytes in and out, and no socket."""

    def __init__(self, application: Application, tasks: asyncio.TaskGroup) -> None:
        self._application, self._tasks = application, tasks

    async def call(self, request: Json) -> Json:
        messages: list[Mapping[str, Any]] = []

        async def send(message: Mapping[str, Any]) -> None:
            messages.append(message)

        scope, receive = self._scope(request, asyncio.Event())
        async with asyncio.timeout(PATIENCE):
            await self._application(scope, receive, send)
        start, *rest = messages
        data = b"".join(bytes(entry.get("body", b"")) for entry in rest)
        return reply(start["status"], _headers(start), data)

    async def watch(self, request: Json) -> Opened:
        opened, begun, refused = Opened({}), asyncio.Event(), bytearray()
        removal = asyncio.Event()
        opened.leave = removal.set

        async def send(message: Mapping[str, Any]) -> None:
            if "status" in message:
                opened.answer = reply(message["status"], _headers(message), None)
            elif opened.answer["status"] == 200:
                opened.feed(bytes(message.get("body", b"")))
            else:
                refused.extend(message.get("body", b""))
            begun.set()

        async def follow() -> None:
            scope, receive = self._scope({"method": "GET", **request}, removal)
            try:
                await self._application(scope, receive, send)
            except Exception as error:
                opened.events.append({"type": "BROKEN", "object": {"error": str(error)}})
            if opened.answer.get("status") != 200:
                text = refused.decode()
                opened.answer["body"] = json.loads(text) if text[:1] == "{" else text
            opened.end()
            begun.set()

        self._tasks.create_task(follow())
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
        await asyncio.sleep(0)
        return opened

    def _scope(self, request: Json, removal: asyncio.Event) -> tuple[dict[str, Any], Any]:
        headers, body = sent(request)
        if body is not None:
            headers["Content-Length"] = str(len(body))
        path, _, query = target_of(request).partition("?")
        parts = [body or b""]

        async def receive() -> dict[str, Any]:
            if parts:
                return {"type": "http.request", "body": parts.pop(), "more_body": False}
            await removal.wait()
            return {"type": "http.disconnect"}

        return {
            "type": "http",
            "method": request["method"],
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(key.lower().encode(), value.encode()) for key, value in headers.items()],
            "client": ("127.0.0.1", 4711),
            "state": {},
        }, receive


class _NoCollector:
    """Stands for the garbage collector."""

    def __init__(self, plane: ServerContext) -> None:
        del plane

    async def run(self) -> None:
        """Collects nothing."""


def _headers(start: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key.decode(), value.decode()) for key, value in start["headers"]]


@asynccontextmanager
async def embedded(clock: Clock) -> AsyncIterator[Embedded]:
    """The embedded server with its controllers, and the users of the recordings."""
    users = {
        TOKENS["admin"]: authenticated_user("admin", ("system:masters",), "admin"),
        TOKENS["alice"]: authenticated_user("alice", (), "alice"),
    }
    server = Server.open(None, clock=clock)
    application = Application(server, Authenticator(users))
    try:
        # Beside the real server no kube-controller-manager runs, which would collect garbage and
        # sum up ClusterRoles.
        async with asyncio.TaskGroup() as tasks:
            with (
                patch("kapy.apiserver.server.server.GarbageCollector", _NoCollector),
                patch.object(ClusterRoleAggregation, "_on_write", lambda *_: None),
            ):
                running = tasks.create_task(server.run())
                await asyncio.sleep(0)
            peer = Embedded(application, tasks)
            yield peer
            await application.stop()
            running.cancel()
    finally:
        server.close()
