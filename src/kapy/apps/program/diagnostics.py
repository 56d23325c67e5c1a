"""Metrics and the log level of a manager, for authorized users.

Requests carry a token. The API server authenticates it (TokenReview) and authorizes the path
(SubjectAccessReview), as for controller-runtime's metrics server.

* `GET /metrics`       metrics in Prometheus' text format
* `PUT /debug/flags/v` the log level as a number: below 2 only warnings, from 5 on everything
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from kapy._aio.asgi import Receive, Scope, Send, read_body, run_lifespan, send_reply
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.kube.errors import KapyError
from kapy.kube.prometheus import text_of

if TYPE_CHECKING:
    from prometheus_client import Metric

_TEXT: Final = b"text/plain; charset=utf-8"
_METRICS: Final = b"text/plain; version=0.0.4; charset=utf-8"
_LEVEL: Final = "/debug/flags/v"
_DENIALS: Final = {401: b"Unauthorized", 403: b"Forbidden", 500: b"Authentication failed"}
_CACHE_SECONDS: Final = 60.0
"""Seconds that an answer about a token counts, as controller-runtime's. A timer: nothing tells that
a token was taken back."""


def _process_families() -> Iterable[Metric]:
    """The metrics of this process; imported late, as a manager starts without them."""
    from prometheus_client import ProcessCollector

    return ProcessCollector(registry=None).collect()


class Diagnostics:
    """An ASGI application that serves the metrics and changes the log level of a program. client:
    sends the reviews of the tokens and rights of callers; without it, anybody can read the metrics,
    and nobody can change the log level.
    """

    def __init__(self, runtime: Runtime, client: Client | None) -> None:
        self._runtime = runtime
        self._client = client
        self._known: dict[tuple[str, str, str], tuple[float, int]] = {}
        self.ready = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI 3 defines."""
        if scope["type"] == "lifespan":
            await run_lifespan(receive, send)
            return
        method, path = scope["method"], scope["path"]
        code = await self._denial_status(scope, method.lower(), path)
        if code:
            await send_reply(send, code, _TEXT, _DENIALS[code])
        elif path == "/metrics" and method == "GET":
            families = [*self._runtime.metrics.registry.collect(), *_process_families()]
            loop = asyncio.get_running_loop()
            text = await loop.run_in_executor(None, text_of, families)
            await send_reply(send, 200, _METRICS, text)
        elif path == _LEVEL and method == "PUT" and self._client is not None:
            await self._set_level(receive, send)
        else:
            await send_reply(send, 404, _TEXT, b"there are /metrics and " + _LEVEL.encode())

    async def stop(self) -> None:
        """Do nothing: no request takes long."""

    async def _denial_status(self, scope: Scope, verb: str, path: str) -> int:
        """Return the HTTP status of a denial: 401 or 403, 500 if the API server cannot be reached;
        0 if the request is allowed.
        """
        if self._client is None:
            return 0
        headers = dict(scope["headers"])
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not token:
            return 401
        request, now = (token, verb, path), monotonic()
        entry = self._known.get(request)
        if entry is None or now > entry[0]:
            self._known = {key: was for key, was in self._known.items() if now <= was[0]}
            try:
                code = await self._authorize(self._client, token, verb, path)
            except KapyError as error:
                logging.getLogger(__name__).warning("cannot ask who may see %s: %s", path, error)
                return 500
            entry = self._known[request] = now + _CACHE_SECONDS, code
        return entry[1]

    async def _authorize(self, client: Client, token: str, verb: str, path: str) -> int:
        review = await _create_review(client, "authentication", "TokenReview", {"token": token})
        if not review.get("authenticated"):
            return 401
        user: Document = review["user"]
        request = {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups") or [],
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        access = await _create_review(client, "authorization", "SubjectAccessReview", request)
        return 0 if access.get("allowed") else 403

    async def _set_level(self, receive: Receive, send: Send) -> None:
        text = (await read_body(receive, 64)).decode("latin-1").strip()
        level = parse_digits(text)
        if level is None:
            await send_reply(send, 400, _TEXT, b"the level is a number")
            return
        set_level(level)
        await send_reply(
            send, 200, _TEXT, f"successfully set klog.logging.verbosity to {text}".encode()
        )


def set_level(verbosity: int) -> None:
    """Set the log level by upstream's numbers; managers start with 2."""
    level = logging.WARNING if verbosity < 2 else logging.INFO if verbosity < 5 else logging.DEBUG
    logging.getLogger().setLevel(level)


async def _create_review(client: Client, group: str, kind: str, spec: Document) -> Document:
    """Create a review and return its status."""
    version = f"{group}.k8s.io/v1"
    body: Any = {"apiVersion": version, "kind": kind, "spec": spec}
    answer = await client.raw("POST", f"/apis/{version}/{kind.lower()}s", body=body)
    status: Document = answer.get("status") or {}
    return status
