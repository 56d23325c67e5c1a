"""The servers that are compared: the embedded one in this process, and one over HTTPS."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from kapy._aio.clock import loop_clock
from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application
from kapy.client.kubeconfig import Kubeconfig
from tests.differential.authorization import Asked
from tests.differential.authorization_model import Document, Subject, question_of
from tests.real.servers import ASSETS, kubernetes

_TOKEN: Final = "admin-token"
_AGENT: Final = "authorization"


@dataclass(frozen=True)
class Answer:
    """A response. document: None if the body is not a document."""

    status: int
    document: Document | None

    @property
    def message(self) -> str:
        return str((self.document or {}).get("message", ""))

    @property
    def review(self) -> Document:
        """The status of a review that was answered."""
        status = (self.document or {}).get("status")
        return status if isinstance(status, dict) else {}


class Peer(Protocol):
    """A server, asked by its administrator in the name of others."""

    async def ask(self, request: Asked) -> Answer:
        """Ask as the subject, or (a review) about it."""
        ...


def admin(method: str, target: str, body: Document | None = None) -> Asked:
    """A request of the administrator."""
    return Asked("review", Subject(""), method, target, body)


def _headers(request: Asked, body: bytes, token: str) -> list[tuple[str, str]]:
    sent = [("authorization", f"Bearer {request.bearer or token}"), ("user-agent", _AGENT)]
    sent += request.headers
    if request.kind != "review":
        sent.append(("impersonate-user", request.subject.name))
        sent += [("impersonate-group", group) for group in request.subject.groups]
    if body:
        sent += [("content-type", request.media), ("content-length", str(len(body)))]
    return sent


def _body(request: Asked) -> bytes:
    return b"" if request.body is None else json.dumps(request.body).encode()


def _answer(status: int, content: bytes) -> Answer:
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    return Answer(status, document if isinstance(document, dict) else None)


def _is_watch(request: Asked) -> bool:
    return question_of(request.method, request.target).verb == "watch"


class Embedded:
    """The server of this process, by ASGI messages: no socket."""

    def __init__(self, server: Server) -> None:
        users = {_TOKEN: authenticated_user("admin", ("system:masters",))}
        self._application = Application(server, Authenticator(users))

    async def ask(self, request: Asked) -> Answer:
        body, watching = _body(request), _is_watch(request)
        path, _, query = request.target.partition("?")
        messages: list[Mapping[str, Any]] = []
        removal = asyncio.Event()
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def send(message: Mapping[str, Any]) -> None:
            messages.append(message)
            if watching:
                removal.set()

        async def receive() -> dict[str, Any]:
            if parts:
                return parts.pop()
            await removal.wait()
            return {"type": "http.disconnect"}

        headers = [
            (name.lower().encode(), value.encode())
            for name, value in _headers(request, body, _TOKEN)
        ]
        scope = {
            "type": "http",
            "method": request.method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "state": {},
        }
        await self._application(scope, receive, send)
        content = b"".join(message.get("body", b"") for message in messages[1:])
        return _answer(messages[0]["status"], content)


@asynccontextmanager
async def embedded() -> AsyncIterator[Embedded]:
    """The embedded server, running in memory."""
    server = Server.open(None, clock=loop_clock())
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.run())
            await asyncio.sleep(0)
            yield Embedded(server)
            task.cancel()
    finally:
        server.close()


class Remote:
    """A server over HTTPS: exactly the bytes that are asked for, by http.client."""

    def __init__(self, access: Kubeconfig) -> None:
        parts = urlsplit(access.server)
        assert parts.hostname
        assert parts.port
        assert access.certificate_authority
        self._to = parts.hostname, parts.port
        self._token = access.token
        self._tls = ssl.create_default_context(cadata=access.certificate_authority.decode())
        self._tls.check_hostname = False
        self._idle: list[http.client.HTTPSConnection] = []

    async def ask(self, request: Asked) -> Answer:
        return await asyncio.to_thread(self._ask, request)

    def close(self) -> None:
        """Close the connections; nobody asks any more."""
        for item in self._idle:
            item.close()

    def _ask(self, request: Asked) -> Answer:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = http.client.HTTPSConnection(*self._to, context=self._tls, timeout=60)
        body = _body(request)
        connection.putrequest(request.method, request.target, skip_accept_encoding=True)
        for name, value in _headers(request, body, self._token):
            connection.putheader(name, value.encode())
        connection.endheaders(body or None)
        reply = connection.getresponse()
        if _is_watch(request) and reply.status == 200:
            reply.close()
            connection.close()
            return Answer(200, None)
        answer = _answer(reply.status, reply.read())
        self._idle.append(connection)
        return answer


@asynccontextmanager
async def peers(folder: Path) -> AsyncIterator[Sequence[Peer]]:
    """The embedded server, after a real one where there is one."""
    assets = os.environ.get(ASSETS)
    async with embedded() as ours:
        if not assets:
            yield [ours]
            return
        with kubernetes(Path(assets), folder) as access, closing(Remote(access)) as real:
            yield [real, ours]
