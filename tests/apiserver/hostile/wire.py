"""A server on a socket, and a client that sends whatever bytes it likes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen
from tests.apiserver.requester import CRDS, GIZMO, Asking
from tests.waiting import LIMIT

TOKENS = {"good": authenticated_user("admin", ("system:masters",))}
HEAD = b"Host: x\r\nAuthorization: Bearer good\r\n"
CONFIG_MAPS = b"/api/v1/namespaces/default/configmaps"
JSON = b"Content-Type: application/json\r\n"
OBJECT = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'


def request(path: bytes, more: bytes = b"", *, method: bytes = b"GET", body: bytes = b"") -> bytes:
    """A request; `more` are further lines of its head."""
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return b"%b %b HTTP/1.1\r\n%b%b%b\r\n%b" % (method, path, HEAD, length, more, body)


@dataclass
class Answer:
    """status: 0 when there was none. closed: whether the server ended the connection."""

    status: int
    body: Any
    closed: bool


class Talk:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()

    async def answer(self, *, body: bool = True) -> Answer:
        """The next answer, and whether the connection ended after it. body: it has one."""
        try:
            async with asyncio.timeout(LIMIT):
                return await self._answer(body=body)
        except (ConnectionError, asyncio.IncompleteReadError):
            return Answer(0, None, closed=True)

    async def _answer(self, *, body: bool) -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        if b" 100 continue" in head:
            head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        content = await self.reader.readexactly(int(length or 0) if body else 0)
        closes = b"connection: close" in head
        if closes:
            with contextlib.suppress(ConnectionError):  # it ended with what we sent unread
                assert await self.reader.read() == b""
        kind = json.loads(content) if content[:1] == b"{" else content
        return Answer(int(head.split(b" ", 2)[1]), kind, closed=closes)


@dataclass
class Wire:
    """asking: the same server in process. said: what was logged at error level."""

    host: str
    port: int
    asking: Asking
    said: list[logging.LogRecord]

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Talk]:
        """One connection."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            yield Talk(reader, writer)
        finally:
            writer.close()

    async def say(self, content: bytes) -> Answer:
        """The answer to some bytes on a connection of their own."""
        async with self.talk() as talk:
            with contextlib.suppress(ConnectionError):  # refused before all of it was sent
                await talk.send(content)
            return await talk.answer()


class _Ear(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@asynccontextmanager
async def wired() -> AsyncIterator[Wire]:
    """A server without TLS. When the context is left, nothing may have been logged as an error."""
    ear = _Ear()
    logging.getLogger().addHandler(ear)
    server = Server.open(None, clock=system_clock)
    try:
        async with (
            asyncio.TaskGroup() as group,
            listen(Application(server, Authenticator(TOKENS))) as (host, port),
        ):
            running = group.create_task(server.run())
            await asyncio.sleep(0)
            asking = Asking(server)
            await asking.create(CRDS, GIZMO)
            yield Wire(host, port, asking, ear.records)
            running.cancel()
    finally:
        logging.getLogger().removeHandler(ear)
        server.close()
    assert [record.getMessage() for record in ear.records] == []
