"""Extensions in process: what a test makes of their answers, and what they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from kapy.api.extension_config import ClientConfig
from kapy.hooks.hook import GROUP
from kapy.hooks.transport import Answer, NoAnswer
from kapy.kube import Document

VERSION = f"{GROUP}/v1alpha1"


class Asked(NamedTuple):
    """One request. at: seconds of the loop's time."""

    at: float
    handler: str
    request: Document


class Extension:
    """One server with handlers, each `name: (hook, answer)`.

    answer: a document, or a function from the request to one. down: why nobody can reach it; delay:
    seconds until it answers; code: another one than 200; raw: bytes that it answers with instead.
    """

    def __init__(self, **handlers: tuple[str, Any]) -> None:
        self.handlers = {name.replace("_", "-"): handler for name, handler in handlers.items()}
        self.asked: list[Asked] = []
        self.trusted: list[str] = []
        self.down = ""
        self.delay = 0.0
        self.code = 200
        self.raw: bytes | None = None
        self.at_a_time = self.most_at_a_time = 0

    async def answer(self, path: str, request: Document) -> Answer:
        handler = path.rpartition("/")[2]
        self.asked.append(Asked(asyncio.get_running_loop().time(), handler, request))
        self.at_a_time += 1
        self.most_at_a_time = max(self.most_at_a_time, self.at_a_time)
        try:
            return await self._answer(handler, request)
        finally:
            self.at_a_time -= 1

    async def _answer(self, handler: str, request: Document) -> Answer:
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.down:
            raise NoAnswer(self.down)
        if self.raw is not None:
            return Answer(self.code, self.raw)
        if handler == "discovery":
            return self._encoded(self.discovered())
        if handler not in self.handlers:
            return Answer(404, b"not found")
        _, result = self.handlers[handler]
        return self._encoded(result(request) if callable(result) else result)

    def _encoded(self, document: Document) -> Answer:
        return Answer(self.code, msgspec.json.encode({"status": "Success", **document}))

    def discovered(self) -> Document:
        handlers = [
            {"name": name, "requestHook": {"apiVersion": VERSION, "hook": hook}}
            for name, (hook, _) in self.handlers.items()
        ]
        return {"handlers": handlers}

    def calls(self, *, but: Sequence[str] = ("discovery",)) -> list[str]:
        """The handlers that were asked, in order."""
        return [entry.handler for entry in self.asked if entry.handler not in but]


class Network:
    """A Post to extensions by host."""

    def __init__(self, **extensions: Extension) -> None:
        self.extensions = extensions

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        parts = urlsplit(url)
        extension = self.extensions.get(parts.hostname or "")
        if extension is None:
            raise NoAnswer(f"dial tcp: lookup {parts.hostname}: no such host")
        extension.trusted.append(client.ca_bundle or "")
        return await extension.answer(parts.path, msgspec.json.decode(body))

    async def aclose(self) -> None:
        """Nothing is open."""


def config(name: str, **spec: Any) -> Document:
    """An ExtensionConfig of the extension at a host of the same name."""
    return {
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2",
        "kind": "ExtensionConfig",
        "metadata": {"name": name},
        "spec": {
            "clientConfig": {"url": f"https://{name}"},
            "namespaceSelector": {},
            **spec,
        },
    }


def waits(times: int, seconds: int = 8, message: str = "not yet") -> Callable[[Document], Document]:
    """An answer that holds so often, and then no more."""
    counter = iter(range(times))

    def answer(_: Document) -> Document:
        if next(counter, None) is None:
            return {}
        return {"retryAfterSeconds": seconds, "message": message}

    return answer
