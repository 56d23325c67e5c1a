"""An extension as an ASGI application: any ASGI server runs it, another application can mount it.

Besides its hooks it answers GET /healthz, /readyz and /metrics (the metrics of its responses). As
with upstream's server, a hook is always answered with status 200, and a failure is in the response.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from kapy._aio.asgi import Receive, Scope, Send, read_body, run_lifespan, send_reply
from kapy.hooks.extension import MAX_BODY, AnsweredRequest, AnyRoute, Extension
from kapy.kube.prometheus import Histograms, counter, histogram, text_of

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUCKETS: Final = (0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
_HANDLER: Final = ["handler", "hook", "version"]


class ExtensionMetrics:
    """Counts the responses of one extension (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, ...]] = Counter()
        self._seconds = Histograms(_BUCKETS)

    def count_response(self, route: AnyRoute, status: str, seconds: float) -> None:
        """Count one response and its duration."""
        which = (route.name, route.hook.name, route.hook.version)
        self._answers[*which, status] += 1
        self._seconds.observe(which, seconds)

    def collect(self) -> Iterable[Metric]:
        """Return the current metric families."""
        yield counter(
            "kapy_extension_requests_total",
            "Requests that were answered, by handler, hook, its version and the answer's status.",
            [*_HANDLER, "status"],
            sorted(self._answers.items()),
        )
        yield histogram(
            "kapy_extension_request_duration_seconds",
            "Seconds that answers took, by handler, hook and its version.",
            _HANDLER,
            self._seconds.rows(),
        )


Answer: TypeAlias = tuple[int, bytes, bytes]
"""A status code, a media type, and a body."""

_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain; charset=utf-8"
_METRICS: Final = b"text/plain; version=0.0.4; charset=utf-8"

_log = logging.getLogger(__name__)


class Application:
    """The ASGI application of one extension.

    complete_metrics: returns the metrics of all processes that serve the extension; None if this is
    the only one.
    """

    def __init__(self, extension: Extension) -> None:
        self.extension = extension
        self.ready = True
        self.complete_metrics: Callable[[], Awaitable[Iterable[Metric]]] | None = None
        self._served = ExtensionMetrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await run_lifespan(receive, send)
        elif scope["type"] == "http":
            method, path = scope["method"], scope["path"].removeprefix(scope.get("root_path", ""))
            body = await read_body(receive, MAX_BODY) if method == "POST" else b""
            await send_reply(send, *await self.answer(method, path, body))

    def collect(self) -> Iterable[Metric]:
        """Return the metric families of this process (`kapy.kube.prometheus.Collector`)."""
        return self._served.collect()

    def answer_at_once(self, method: str, path: str, body: bytes) -> Answer | None:
        """Return the response to a request that needs no handler, None for any other request.

        body: the body, of which at most one byte more than `MAX_BODY` has to be read.
        """
        if method == "GET":
            gathers = path == "/metrics" and self.complete_metrics is not None
            return None if gathers else self._built_in_reply(path)
        if method != "POST":
            return 405, _JSON, _failure_status(f"hooks are called with POST, not with {method}")
        answered = self.extension.answer_at_once(path, body)
        if answered is None:
            return None
        self._note(answered, 0.0)
        return 200, _JSON, answered.body

    async def answer(self, method: str, path: str, body: bytes) -> Answer:
        """Return the response to any request."""
        at_once = self.answer_at_once(method, path, body)
        if at_once is not None:
            return at_once
        if method == "GET" and self.complete_metrics is not None:
            return 200, _METRICS, text_of(list(await self.complete_metrics()))
        now = asyncio.get_running_loop().time
        started = now()
        answered = await self.extension.answer(path, body)
        if answered is None:
            return _nothing(path)
        self._note(answered, now() - started)
        return 200, _JSON, answered.body

    def _built_in_reply(self, path: str) -> Answer:
        if path == "/healthz":
            return 200, _TEXT, b"ok"
        if path == "/readyz":
            return (200, _TEXT, b"ok") if self.ready else (503, _TEXT, b"stopping")
        if path == "/metrics":
            return 200, _METRICS, text_of(list(self.collect()))
        return _nothing(path)

    def _note(self, answered: AnsweredRequest, seconds: float) -> None:
        route = answered.route
        self._served.count_response(route, answered.status, seconds)
        if _log.isEnabledFor(logging.INFO):
            name, status = route.hook.name, answered.status
            _log.info("%s %s: %s in %.1f ms", name, route.name, status, 1000 * seconds)


def _nothing(path: str) -> Answer:
    return (
        404,
        _JSON,
        _failure_status(f"no handler is at {path}; Discovery lists those that there are"),
    )


def _failure_status(message: str) -> bytes:
    return msgspec.json.encode({"status": "Failure", "message": message})
