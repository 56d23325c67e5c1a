"""An ASGI application that serves admission and conversion webhooks.

A server sends an `AdmissionReview` (admission.k8s.io/v1) or a `ConversionReview`
(apiextensions.k8s.io/v1) by POST, and reads `/healthz` and `/readyz` by GET. Requests are counted
in metrics with controller-runtime's names.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kapy._aio.asgi import Receive, Scope, Send, read_body, run_lifespan, send_reply
from kapy.kube import Document
from kapy.kube.patch.merge_patch import is_equal_json
from kapy.kube.prometheus import Histograms, counter, gauge, histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUCKETS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
_WEBHOOK: Final = ["webhook"]
CONVERSION: Final = "/convert"


class ReviewMetrics:
    """The counters of one application (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = sorted(paths)
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._bugs: Counter[bool] = Counter()
        self._under_way: Counter[str] = Counter()
        self._seconds = Histograms(_BUCKETS)

    @contextmanager
    def measure(self, path: str) -> Iterator[None]:
        """Count a running request. Errors are bugs, and are raised through."""
        began = perf_counter()
        self._under_way[path] += 1
        try:
            yield
        except Exception:
            self._bugs[path == CONVERSION] += 1
            self.count_response(path, 500)
            raise
        finally:
            self._under_way[path] -= 1
            self._seconds.observe((path,), perf_counter() - began)

    def count_response(self, path: str, code: int) -> None:
        """Count a response with its status code."""
        self._requests[str(code), path] += 1

    def collect(self) -> Iterable[Metric]:
        """Return the current metric families."""
        yield counter(
            "controller_runtime_webhook_requests_total",
            "Requests to webhooks by status code.",
            ["code", *_WEBHOOK],
            sorted(self._requests.items()),
        )
        yield histogram(
            "controller_runtime_webhook_latency_seconds",
            "Seconds that webhooks took.",
            _WEBHOOK,
            self._seconds.rows(),
        )
        yield gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Requests that webhooks are answering.",
            _WEBHOOK,
            (([path], self._under_way[path]) for path in self._paths),
        )
        for name, what in (("webhook", False), ("conversion_webhook", True)):
            yield counter(
                f"controller_runtime_{name}_panics_total",
                "Requests that failed for a reason nobody foresaw: bugs.",
                [],
                [([], self._bugs[what])],
            )


MAX_BODY: Final = 64 * 1024 * 1024
"""The maximum bytes of a review: a server has a whole list converted at a time."""

VERSIONS: Final = ("admission.k8s.io/v1", "apiextensions.k8s.io/v1")

_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain; charset=utf-8"

Handler = Callable[[Document], Awaitable[Document]]
"""Handles the `request` of a review; returns its `response`, without the uid."""


class Reviews:
    """The ASGI application for webhook reviews. handlers: the handler of each path. ready: the
    result of `/readyz`, which its server may change. metrics: its counters.
    """

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self.ready = True
        self.metrics = ReviewMetrics(handlers)
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await run_lifespan(receive, send)
        elif scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            if scope["method"] == "GET":
                await send_reply(send, *self._get(path))
            else:
                await send_reply(send, *await self._measure(scope["method"], path, receive))

    def _get(self, path: str) -> tuple[int, bytes, bytes]:
        if path == "/healthz" or (path == "/readyz" and self.ready):
            return 200, _TEXT, b"ok"
        if path == "/readyz":
            return 503, _TEXT, b"stopping"
        return 404, _TEXT, b"webhooks are asked with POST"

    async def _measure(self, method: str, path: str, receive: Receive) -> tuple[int, bytes, bytes]:
        if path not in self._handlers:
            return 404, _TEXT, f"no webhook is at {path}".encode()
        with self.metrics.measure(path):
            results = await self._post(method, path, receive)
        self.metrics.count_response(path, results[0])
        return results

    async def _post(self, method: str, path: str, receive: Receive) -> tuple[int, bytes, bytes]:
        if method != "POST":
            return 405, _TEXT, f"webhooks are asked with POST, not with {method}".encode()
        body = await read_body(receive, MAX_BODY)
        if len(body) > MAX_BODY:
            return 413, _TEXT, f"a review has {MAX_BODY} bytes at most".encode()
        try:
            review = msgspec.json.decode(body, type=_Review)
        except (ValueError, RecursionError) as error:
            return 400, _TEXT, f"this is no review: {error}".encode()
        if review.apiVersion not in VERSIONS:
            versions = " and ".join(VERSIONS)
            return (
                400,
                _TEXT,
                f"reviews of {versions} are read, not of {review.apiVersion}".encode(),
            )
        response = {
            "uid": review.request.get("uid", ""),
            **await self._handlers[path](review.request),
        }
        result = {"apiVersion": review.apiVersion, "kind": review.kind, "response": response}
        return 200, _JSON, msgspec.json.encode(result)


def patch_response(before: Document, after: Document) -> Document:
    """Return the admission response that changes one object into another: a JSON patch of whole
    fields.
    """
    operations: Sequence[Document] = [
        *(
            {"op": "add", "path": f"/{name}", "value": value}
            for name, value in after.items()
            if not is_equal_json(value, before.get(name))
        ),
        *({"op": "remove", "path": f"/{name}"} for name in before if name not in after),
    ]
    if not operations:
        return {"allowed": True}
    patch = b64encode(msgspec.json.encode(operations)).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


class _Review(msgspec.Struct):
    apiVersion: str  # noqa: N815 - as it travels
    kind: str
    request: dict[str, Any]
