"""Calls of the handlers of extensions: URL, request body, decoded response, and metrics.

The metrics have upstream's names.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

import msgspec

from kapy._aio.tracing import Value, span
from kapy.api.extension_config import ClientConfig, ExtensionConfig, ServiceReference
from kapy.hooks.catalog import Catalog
from kapy.hooks.discovery import validate_handlers
from kapy.hooks.errors import BadAddress, HookError
from kapy.hooks.go_decoding import go_document
from kapy.hooks.hook import AnyHook, Hook
from kapy.hooks.messages.discovery import DISCOVERY, DiscoveryRequest, ExtensionHandler
from kapy.hooks.messages.message import (
    FAILURE,
    SUCCESS,
    Message,
    Response,
)
from kapy.hooks.transport import Answer, HookTransport, NoAnswer
from kapy.kube import Document
from kapy.kube.errors import shorten
from kapy.kube.go_literals import go_quoted
from kapy.kube.model import encode
from kapy.kube.prometheus import Histograms, counter, histogram
from kapy.kube.urls import url_problem

if TYPE_CHECKING:
    from prometheus_client.core import Metric


_BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_HOOK: Final = ["host", "group", "version", "hook"]
_NO_CODE: Final = "<error>"
_NO_STATUS: Final = "Unknown"

_SHOWN: Final = 512
"""Characters of an answer that is an error page, in messages."""
_LONG: Final = 1 << 20
"""Bytes of an answer that others would wait for while it is read."""
_HEADING: Final = ("kind", "apiVersion")
_UNESCAPED_IN_PATHS: Final = "$&+,/:;=@"
_UNESCAPED_IN_HOSTS: Final = "!$&'()*+,;=:[]<>\"@%"
Resp = TypeVar("Resp", bound=Response)


class CallFailed(HookError):
    """A handler could not be called, or its answer is unreadable; the message is upstream's."""


class HandlerRefused(HookError):
    """A handler answered with the status Failure."""


def body_of(hook: AnyHook, request: Message | Document, settings: Mapping[str, str]) -> bytes:
    """Return the encoded body of a request. settings: the settings of the ExtensionConfig, over
    which the request's own settings take precedence.

    Equal requests have equal bytes, since extensions may cache responses by them.
    """
    document = encode(request) if isinstance(request, Message) else dict(request)
    if merged := {**settings, **(document.get("settings") or {})}:
        document["settings"] = merged
    document |= {"apiVersion": hook.api_version, "kind": hook.request_kind}
    return msgspec.json.encode(document, order="deterministic")


class Calls:
    """Calls the handlers of extensions over a transport, and counts the calls."""

    def __init__(self, post: HookTransport) -> None:
        self.metrics = CallMetrics()
        self._post = post

    async def call(
        self,
        hook: Hook[Any, Resp],
        client: ClientConfig,
        url: str,
        body: bytes,
        seconds: int,
        *,
        until: float,
    ) -> Resp:
        """Return the response of a handler, which may be a failure. Raises CallFailed.

        seconds: the timeout that the request tells the handler. until: the deadline on the loop's
        clock.
        """
        now = asyncio.get_running_loop().time
        began, code, status = now(), _NO_CODE, _NO_STATUS
        url = f"{url}{'&' if '?' in url else '?'}timeout={seconds}s"
        with span(f"hook {hook.name}", _span_attributes(hook, url), kind="client") as result:
            try:
                answer = await self._send_within_deadline(client, url, body, seconds, until)
                code = str(answer.code)
                if len(answer.body) < _LONG:
                    response = _response(hook, answer)
                else:
                    response = await asyncio.to_thread(_response, hook, answer)
                status = response.status or _NO_STATUS
            finally:
                result.set_attribute("http.response.status_code", code)
                result.set_attribute("kapy.hook.status", status)
                self.metrics.count_call(urlsplit(url).netloc, hook, code, status, now() - began)
        return response

    async def _send_within_deadline(
        self, client: ClientConfig, url: str, body: bytes, seconds: int, until: float
    ) -> Answer:
        try:
            async with asyncio.timeout_at(until):
                return await self._send(client, url, body)
        except TimeoutError:
            why = f"no answer within {seconds}s"
            raise CallFailed(f'http call failed: Post "{url}": {why}') from None

    async def _send(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        try:
            return await self._post(client, url, body)
        except NoAnswer as error:
            raise CallFailed(f'http call failed: Post "{url}": {error}') from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._post.aclose()


async def discover(
    config: ExtensionConfig, catalog: Catalog, calls: Calls, seconds: int
) -> list[ExtensionHandler]:
    """Return the handlers of an extension, with defaults. Raises HookError."""
    client, name = config.spec.client_config, config.metadata.name
    try:
        url = handler_url(client, DISCOVERY)
        body = body_of(DISCOVERY, DiscoveryRequest(), {})
        until = asyncio.get_running_loop().time() + seconds
        response = await calls.call(DISCOVERY, client, url, body, seconds, until=until)
    except HookError as error:
        raise HookError(f'failed to discover extension "{name}": {error}') from error
    check(response, "discover extension", name)
    try:
        return validate_handlers(response.handlers, catalog)
    except HookError as error:
        raise HookError(f'failed to discover extension "{name}": {error}') from error


def _span_attributes(hook: AnyHook, url: str) -> dict[str, Value]:
    """Return the attributes of a call's span before there is an answer."""
    return {"http.request.method": "POST", "url.full": url, "kapy.hook": str(hook)}


def check(response: Response, doing: str, name: str) -> None:
    """Raise HandlerRefused if a response is not successful. doing: the operation in the message,
    such as "call extension handler".
    """
    if response.status == SUCCESS:
        return
    kind = "failure response" if response.status == FAILURE else "unknown response status"
    result = "" if response.status == FAILURE else f' "{response.status}"'
    raise HandlerRefused(
        f'failed to {doing} "{name}": got {kind}{result} with message: {response.message}'
    )


def _response(hook: Hook[Any, Resp], answer: Answer) -> Resp:
    if answer.code != 200:
        text = answer.body.decode(errors="replace")
        result = go_quoted(text[:_SHOWN] + "..." if len(text) > _SHOWN else text)
        raise CallFailed(
            f"http call failed: got response with status code {answer.code} != 200: "
            f"response : {result}"
        )
    try:
        return _decode_response(hook, answer.body)
    except ValueError as error:
        raise CallFailed(f"http call failed: failed to decode response: {error}") from None


def _decode_response(hook: Hook[Any, Resp], body: bytes) -> Resp:
    """Decode a response. Raises ValueError. As in upstream, the kind is not checked, and a status
    is required.
    """
    document = go_document(body, hook.response)
    fields = {key: value for key, value in document.items() if key not in _HEADING}
    result = msgspec.convert(fields, hook.response)
    result.status = document.get("status", "")
    return result


def handler_url(config: ClientConfig, hook: AnyHook, name: str = "") -> str:
    """Return the URL of a handler, as Go formats it. Raises BadAddress.

    name: the handler's own, without its ExtensionConfig; "" for a singleton hook.
    """
    parts = _of_service(config.service) if config.service else _of_url(config.url)
    after_scheme = config.url.partition(":")[2]
    if not config.service and not after_scheme.startswith("/"):
        # An opaque URL ("https:host") has no path: the path of the hook is lost, as in Go.
        return f"{parts.scheme}:{after_scheme}"
    path = _join_paths(unquote(parts.path), hook.path(name))
    if not path.startswith("/"):
        path = f"/{path}"
    has_host = config.service or after_scheme.startswith("//")
    authority = f"//{quote(parts.netloc, safe=_UNESCAPED_IN_HOSTS)}" if has_host else ""
    rest = urlunsplit(("", "", "", parts.query, parts.fragment))
    return f"{parts.scheme}:{authority}{quote(path, safe=_UNESCAPED_IN_PATHS)}{rest}"


def _of_service(service: ServiceReference) -> SplitResult:
    host = f"{service.name}.{service.namespace}.svc"
    if service.port is not None:
        host = f"[{host}]:{service.port}" if ":" in host else f"{host}:{service.port}"
    return SplitResult("https", host, quote(service.path), "", "")


def _of_url(url: str) -> SplitResult:
    if not url:
        raise BadAddress(
            "failed to compute URL: at least one of service and url should be defined in config"
        )
    problem = url_problem(url)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        problem = problem or str(error)
    if problem:
        raise BadAddress(
            f"failed to compute URL: failed to parse url from clientConfig: {shorten(problem)}"
        )
    if parts.scheme != "https":
        raise BadAddress(f"failed to compute URL: expected https scheme, got {parts.scheme}")
    return parts


def _join_paths(base: str, path: str) -> str:
    """Join both paths without empty or parent segments (`path.Join`)."""
    joined = posixpath.normpath(f"{base}/{path}" if base else path)
    return f"/{joined.lstrip('/')}" if joined.startswith("/") else joined


class CallMetrics:
    """Counts the calls of one program (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._seconds = Histograms(_BUCKETS)

    def count_call(self, host: str, hook: AnyHook, code: str, status: str, seconds: float) -> None:
        """Count one request. code: the HTTP status code, or _NO_CODE. status: the status of the
        response, or _NO_STATUS.
        """
        self._requests[code, host, hook.group, hook.version, hook.name, status] += 1
        self._seconds.observe((host, hook.group, hook.version, hook.name), seconds)

    def collect(self) -> Iterable[Metric]:
        """Return the current metric families."""
        yield counter(
            "capi_runtime_sdk_requests_total",
            "Requests to extensions by status code, host, hook and status of the response.",
            ["code", *_HOOK, "status"],
            sorted(self._requests.items()),
        )
        yield histogram(
            "capi_runtime_sdk_request_duration_seconds",
            "Seconds that requests to extensions took, by host and hook.",
            _HOOK,
            self._seconds.rows(),
        )
