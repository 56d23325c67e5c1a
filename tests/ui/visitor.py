"""A browser without a screen: sends requests to the pages as an ASGI server would."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from kapy._aio.clock import Clock
from kapy.apiserver.server import Server
from kapy.apps.fleet_pages import fleet_pages
from kapy.apps.settings import Pages
from kapy.kube.http import ADMIN, ANONYMOUS, User
from kapy.ui.application import FleetPages

HOST = "127.0.0.1:6443"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the pages."""

    status: int
    headers: Mapping[str, str]
    text: str


class Visitor:
    """One browser with its cookie."""

    def __init__(self, pages: FleetPages) -> None:
        self.pages = pages
        self.cookie = ""

    async def log_in(self, user: User = ADMIN, *, allow_actions: bool = False) -> None:
        """Use a new one-time link."""
        path = self.pages.login_path(user, allow_actions=allow_actions)
        answer = await self.get(path.removeprefix("/ui"))
        assert answer.status == 200, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    async def get(self, path: str, **headers: str) -> Answer:
        """Read a page, by its path below `/ui`."""
        return await self.send("GET", path, b"", headers)

    async def post(self, path: str, form: Mapping[str, str], **headers: str) -> Answer:
        """Send a form."""
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return await self.send("POST", path, urlencode(form).encode(), {**kind, **headers})

    async def submit(self, path: str, form: Mapping[str, str]) -> Answer:
        """Send a form with the token of this session's pages."""
        page = await self.get("/")
        match = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert match is not None
        return await self.post(path, {**form, "csrf": match[1]})

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        user: User = ANONYMOUS,
        incoming: asyncio.Queue[dict[str, Any]] | None = None,
    ) -> Answer:
        """Send any request. incoming: the messages of its body, in place of `body`."""
        sent: list[dict[str, Any]] = []
        queue = incoming or asyncio.Queue[dict[str, Any]]()
        queue.put_nowait({"type": "http.request", "body": body, "more_body": False})
        await self.pages(
            _scope(method, path, self.cookie, headers or {}), queue.get, _to(sent), user
        )
        start, *parts = sent
        names = {name.decode(): value.decode() for name, value in start["headers"]}
        text = b"".join(part["body"] for part in parts).decode()
        return Answer(start["status"], names, text)

    async def log_out(self) -> None:
        """Log out as a user does."""
        assert (await self.submit("/logout", {})).status == 303

    async def hold(self, path: str) -> None:
        """Read a stream until the server ends it."""
        incoming = asyncio.Queue[dict[str, Any]]()
        await self.pages(_scope("GET", path, self.cookie, {}), incoming.get, _to([]))

    @asynccontextmanager
    async def listen(self, path: str) -> AsyncIterator[asyncio.Queue[str]]:
        """Read a stream of events for as long as the context is open."""
        events, incoming = asyncio.Queue[str](), asyncio.Queue[dict[str, Any]]()
        incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                events.put_nowait(message["body"].decode())

        async with asyncio.TaskGroup() as group:
            scope = _scope("GET", path, self.cookie, {})
            group.create_task(self.pages(scope, incoming.get, send))
            yield events
            incoming.put_nowait({"type": "http.disconnect"})


def _to(sent: list[dict[str, Any]]) -> Any:
    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    return send


def _scope(method: str, path: str, cookie: str, headers: Mapping[str, str]) -> dict[str, Any]:
    plain, _, query = f"/ui{path}".partition("?")
    usual_headers = {"host": HOST, **({"cookie": cookie} if cookie else {})}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {
        "type": "http",
        "method": method,
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in {**usual_headers, **named}.items()],
    }


@asynccontextmanager
async def visiting(
    server: Server, clock: Clock, user: User = ADMIN, settings: Pages | None = None
) -> AsyncIterator[Visitor]:
    """A visitor of the pages of a server, logged in as a user."""
    pages = fleet_pages(server, clock, settings or Pages())
    async with pages.running():
        visitor = Visitor(pages)
        await visitor.log_in(user)
        yield visitor
