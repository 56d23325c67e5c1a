"""Calls of extensions as they happen, for who looks on. Nobody pays where nobody looks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from kapy._aio.clock import Clock
from kapy.api.extension_config import ClientConfig
from kapy.hooks.messages.discovery import DISCOVERY
from kapy.hooks.posting import Answer, NoAnswer, Post
from kapy.hooks.redacted import shown
from kapy.hooks.registry import Registry
from kapy.kube import Document

KEPT: Final = 1000
"""Calls that wait for somebody who looks on slowly; older ones are forgotten."""
_DISCOVERY: Final = DISCOVERY.path().rpartition("/")[2]


class WatchedPost:
    """A `kapy.hooks.posting.Post` that tells of its calls."""

    def __init__(self, post: Post, registry: Registry, clock: Clock) -> None:
        self._post = post
        self._registry = registry
        self._clock = clock
        self._onlookers: list[Onlooker] = []

    def watch(self) -> Onlooker:
        """The calls that end from now on."""
        onlooker = Onlooker(self._onlookers.remove)
        self._onlookers.append(onlooker)
        return onlooker

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        if not self._onlookers:
            return await self._post(client, url, body)
        loop = asyncio.get_running_loop()
        heading, began = self._heading(client, url), loop.time()
        found, why = None, "no answer in time"
        try:
            found = await self._post(client, url, body)
        except NoAnswer as error:
            why = str(error)
            raise
        finally:
            told = heading | {"seconds": round(loop.time() - began, 6)}
            told |= _outcome(found, why) | {"request": _content(body)}
            for onlooker in list(self._onlookers):
                onlooker.tell(told)
        return found

    def _heading(self, client: ClientConfig, url: str) -> Document:
        """The names of hook and handler are in the path, below the hook's group and version."""
        parts = urlsplit(url)
        *_, version, hook, handler = f"//{parts.path}".split("/")
        if handler == _DISCOVERY:  # a hook without handlers' names
            version, hook, handler = hook, DISCOVERY.name, ""
        found = self._registry.reached(client, handler)
        return {
            "time": self._clock().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "hook": found.hook if found else hook,
            "version": version,
            "handler": found.name if found else handler,
            "host": parts.netloc,
        }

    async def aclose(self) -> None:
        """Close all connections, and tell who looks on that this is the end."""
        for onlooker in list(self._onlookers):
            await onlooker.aclose()
        await self._post.aclose()


class Onlooker:
    """Calls, one document each, until either side ends it (a `kapy.apiserver` stream)."""

    def __init__(self, left: Callable[[Onlooker], None]) -> None:
        self._left = left
        self._calls: deque[Document] = deque(maxlen=KEPT)
        self._news = asyncio.Event()
        self._open = True
        self._on_close: Callable[[], None] | None = None

    def tell(self, call: Document) -> None:
        """One call more."""
        self._calls.append(call)
        self._news.set()

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        while not self._calls:
            if not self._open:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._calls.popleft()

    async def lines(self) -> AsyncIterator[bytes]:
        """The same as lines of JSON."""
        async for call in self:
            yield msgspec.json.encode(call) + b"\n"

    def when_closed(self, told: Callable[[], None] | None) -> None:
        """Tell when it ends, while its reader may not read any more."""
        self._on_close = told

    async def aclose(self) -> None:
        """End it."""
        if not self._open:
            return
        self._open = False
        self._left(self)
        self._news.set()
        if self._on_close is not None:
            self._on_close()


def _outcome(answer: Answer | None, why: str) -> Document:
    if answer is None:
        return {"error": why}
    return {"code": answer.code, "response": _content(answer.body)}


def _content(body: bytes) -> Any:
    try:
        return shown(body)
    except ValueError:
        return {"unreadable": len(body)}
