"""The stream of hook calls for observers, and the redaction of messages in it.

Without observers only the last blocking answers are kept, so that a later observer gets them first.

The redaction decodes patches and removes possible secrets: the value of a field, a variable or a
patched path whose name contains a word of `_WORDS`, and the contents of machine files. If such a
field holds an object, its texts are removed, too, except for those that locate a secret.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from kapy._aio.clock import Clock
from kapy.api.extension_config import ClientConfig
from kapy.hooks.messages.discovery import DISCOVERY
from kapy.hooks.registry import Registry
from kapy.hooks.transport import Answer, HookTransport, NoAnswer
from kapy.kube import Document, Key
from kapy.kube.foreign_json import decode_json
from kapy.kube.nested import value_at

MAX_BUFFERED: Final = 1000
"""Calls that wait for somebody who looks on slowly; older ones are forgotten."""
MOST_BLOCKING: Final = 1000
"""Answers of one handler that block and are remembered, the last one about each cluster."""
_RETRY: Final = "retryAfterSeconds"
_DISCOVERY: Final = DISCOVERY.path().rpartition("/")[2]

REDACTED: Final = "(not shown)"
_WORDS: Final = ("passw", "secret", "token", "key", "credential", "content")
_PLACES: Final = frozenset(("apiVersion", "kind", "namespace", "name"))
"""Fields of a reference, of which none is a secret."""


class ObservableTransport:
    """A `kapy.hooks.transport.HookTransport` that reports its calls to observers."""

    def __init__(self, post: HookTransport, registry: Registry, clock: Clock) -> None:
        self._post = post
        self._registry = registry
        self._clock = clock
        self._onlookers: list[CallStream] = []
        self._blocking: dict[str, dict[Key, Document]] = {}

    def watch(self, *, recall: bool = False) -> CallStream:
        """Return a stream of calls. Each call is added when it has ended.

        recall: the stream begins with the last blocking responses; of their requests only the name
        of the cluster is kept.
        """
        onlooker = CallStream(self._onlookers.remove)
        for calls in self._blocking.values() if recall else ():
            for call in calls.values():
                onlooker.add(call)
        self._onlookers.append(onlooker)
        return onlooker

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        loop = asyncio.get_running_loop()
        # The extension may be registered anew before it answers.
        heading, began = self._heading(client, url), loop.time()
        result, why = None, "no answer in time"
        try:
            result = await self._post(client, url, body)
        except NoAnswer as error:
            why = str(error)
            raise
        finally:
            may_block = result is not None and _RETRY.encode() in result.body
            if self._onlookers or may_block or url in self._blocking:
                call = heading | {"seconds": round(loop.time() - began, 6)}
                call |= _outcome(result, why) | {"request": _content(body)}
                self._report(url, call)
        return result

    def _report(self, url: str, call: Document) -> None:
        for onlooker in list(self._onlookers):
            onlooker.add(call)
        subject = ("request", "cluster", "metadata")
        names = (value_at(call, (*subject, name)) for name in Key._fields)
        cluster = Key(*(str(name or "") for name in names))
        blocking = self._blocking.pop(url, {})
        blocking.pop(cluster, None)
        if value_at(call, ("response", _RETRY)):
            request = {"cluster": {"metadata": cluster._asdict()}}
            blocking[cluster] = {**call, "request": request}
            if len(blocking) > MOST_BLOCKING:
                del blocking[next(iter(blocking))]
        if blocking:
            self._blocking[url] = blocking

    def _heading(self, client: ClientConfig, url: str) -> Document:
        """Return the names of hook and handler, from the URL path."""
        parts = urlsplit(url)
        *_, version, hook, handler = f"//{parts.path}".split("/")
        if handler == _DISCOVERY:  # the Discovery hook has no handler name
            version, hook, handler = hook, DISCOVERY.name, ""
        result = self._registry.registration_of(client, handler)
        return {
            "time": self._clock().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "hook": result.hook if result else hook,
            "version": version,
            "handler": result.name if result else handler,
            "host": parts.netloc,
        }

    async def aclose(self) -> None:
        """Close all connections, and end the streams of observers."""
        for onlooker in list(self._onlookers):
            await onlooker.aclose()
        await self._post.aclose()


class CallStream:
    """A stream of calls, one document each, until either side ends it (a `kapy.apiserver`
    stream).
    """

    def __init__(self, on_leave: Callable[[CallStream], None]) -> None:
        self._left = on_leave
        self._calls: deque[Document] = deque(maxlen=MAX_BUFFERED)
        self._news = asyncio.Event()
        self._open = True
        self._on_close: Callable[[], None] | None = None

    def add(self, call: Document) -> None:
        """Add a call to the stream."""
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
        """Yield the calls as lines of JSON."""
        async for call in self:
            yield msgspec.json.encode(call) + b"\n"

    def when_closed(self, callback: Callable[[], None] | None) -> None:
        """Set a callback for the end of the stream, for a reader that may have stopped reading."""
        self._on_close = callback

    async def aclose(self) -> None:
        """End the stream."""
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
        return redact_message(body)
    except ValueError:
        return {"unreadable": len(body)}


def redact_message(message: bytes) -> Document:
    """Return a redacted request or response. Raises ValueError if it is no JSON object."""
    document = decode_json(message)
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    for item in document.get("items") or ():
        if isinstance(item, dict) and "patch" in item:
            item["patch"] = _readable(item["patch"])
    result: Document = _redact(document)
    return result


def _readable(patch: Any) -> Any:
    try:
        return decode_json(b64decode(patch or ""))
    except (ValueError, TypeError):
        return patch


def _redact(node: Any, *, secret: bool = False) -> Any:
    """Return a node of a document without possible secrets. secret: whether the node is the value
    of a field with a suspicious name.
    """
    if isinstance(node, list):
        return [_redact(item, secret=secret) for item in node]
    if not isinstance(node, dict):
        return REDACTED if secret and _is_plain(node) else node
    named = _is_secret(str(node.get("name", ""))) or _is_secret(str(node.get("path", "")))
    return {
        key: REDACTED
        if named and key in ("value", "content")
        else _redact(value, secret=_is_secret(key) or (secret and key not in _PLACES))
        for key, value in node.items()
    }


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_secret(name: str) -> bool:
    lower = name.lower()
    return any(word in lower for word in _WORDS)
