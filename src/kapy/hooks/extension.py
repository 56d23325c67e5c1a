"""Runtime extensions: handlers of hooks are registered on an Extension, and
`kapy.hooks.application` serves it.

    extension = Extension()

    @extension.handles(BEFORE_CLUSTER_UPGRADE, name="freeze-window", timeout_seconds=5)
    async def freeze_window(request: BeforeClusterUpgradeRequest) -> RetryResponse:
        if request.to_kubernetes_version == "v1.33.0":
            return RetryResponse.wait(600, "change freeze until Monday")
        return RetryResponse()

A handler whose signature does not fit its hook is a type error. A handler reports a failure by
raising HookFailed or by returning `refuse(…)`. Any other exception is logged, and the response is a
failure without details.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeAlias

from kapy.hooks.catalog import Catalog, full_catalog
from kapy.hooks.discovery import validate_handlers
from kapy.hooks.errors import BadDiscovery, HookError
from kapy.hooks.hook import Hook, Req, Resp
from kapy.hooks.messages.discovery import (
    DEFAULT_TIMEOUT_SECONDS,
    DISCOVERY,
    DiscoveryRequest,
    DiscoveryResponse,
    ExtensionHandler,
    GroupVersionHook,
)
from kapy.hooks.messages.message import FAILURE, SUCCESS

MAX_BODY: Final = 20 << 20
"""Bytes that a request may have at most: far above a real one; a larger one is a mistake."""

_DISCOVERY_PATH: Final = DISCOVERY.path()

Handler: TypeAlias = Callable[[Req], Awaitable[Resp]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Route(Generic[Req, Resp]):
    """A handler and its discovery data."""

    hook: Hook[Req, Resp]
    name: str
    handler: Handler[Req, Resp]
    timeout_seconds: int
    failure_policy: Literal["Fail", "Ignore"]

    async def respond(self, request: Req) -> Resp:
        """Call the handler; a failure becomes a response, too."""
        try:
            answer = await self.handler(request)
            if isinstance(answer, self.hook.response):
                return answer
            result, wanted = type(answer).__name__, self.hook.response.__name__
            raise TypeError(f"it answered with {result}, and not with {wanted}")
        except HookError as error:
            return self.failure_response(str(error))
        except (Exception, SystemExit):  # a failed handler must not end the server
            _log.exception("the handler %s of %s failed", self.name, self.hook.name)
            return self.failure_response("internal error: see the log of the extension")

    def failure_response(self, message: str) -> Resp:
        """Return a response that describes a failure."""
        return self.hook.response(status=FAILURE, message=message)

    @property
    def discovered(self) -> ExtensionHandler:
        return ExtensionHandler(
            name=self.name,
            request_hook=GroupVersionHook(api_version=self.hook.api_version, hook=self.hook.name),
            timeout_seconds=self.timeout_seconds,
            failure_policy=self.failure_policy,
        )


AnyRoute: TypeAlias = Route[Any, Any]


class AnsweredRequest:
    """The response to one request: the encoded body, and data for logs and metrics."""

    __slots__ = ("body", "route", "status")

    def __init__(self, route: AnyRoute, status: str, body: bytes) -> None:
        self.route = route
        self.status = status
        self.body = body


class Extension:
    """The handlers of one runtime extension, independent of a transport.

    catalog: the known hooks, if not only kapy's own.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = full_catalog() if catalog is None else catalog
        self._routes: dict[str, AnyRoute] = {}
        self._discovered = b""
        self._add(Route(DISCOVERY, "", self._discover, DEFAULT_TIMEOUT_SECONDS, "Fail"))

    def handles(
        self,
        hook: Hook[Req, Resp],
        *,
        name: str,
        timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS,
        failure_policy: Literal["Fail", "Ignore"] = "Fail",
    ) -> Callable[[Handler[Req, Resp]], Handler[Req, Resp]]:
        """Register the decorated coroutine function as a handler of the hook.

        Raises ValueError for a name or value that discovery would not allow.
        """

        def register(handler: Handler[Req, Resp]) -> Handler[Req, Resp]:
            route = Route(hook, name, handler, timeout_seconds, failure_policy)
            self._check(route)
            self._add(route)
            return handler

        return register

    @property
    def routes(self) -> list[AnyRoute]:
        """All handlers that have a name, by path."""
        return [route for _, route in sorted(self._routes.items()) if route.name]

    def route(self, hook: Hook[Req, Resp], name: str = "") -> Route[Req, Resp]:
        """Return the handler of a hook. Raises ValueError if there is none."""
        result = self._routes.get(hook.path(name))
        if result is None:
            there = ", ".join(f"{item.name} ({item.hook.name})" for item in self.routes) or "none"
            raise ValueError(f'no handler "{name}" of {hook.name}; there are: {there}')
        return result

    async def dispatch(self, path: str, body: bytes) -> bytes | None:
        """Handle one request, and return the encoded response; None if no handler has that path."""
        answered = await self.answer(path, body)
        return None if answered is None else answered.body

    async def answer(self, path: str, body: bytes) -> AnsweredRequest | None:
        """Handle one request, and return the response with data for logs and metrics; None if no
        handler has that path.
        """
        route = self._routes.get(path)
        if route is None:
            return None
        if route.hook is DISCOVERY:
            return self._discovery_response(route, body)
        try:
            response = await route.respond(_decode_request(route, body))
        except HookError as error:
            response = route.failure_response(str(error))
        return AnsweredRequest(route, response.status, route.hook.encode_response(response))

    def answer_at_once(self, path: str, body: bytes) -> AnsweredRequest | None:
        """Return the response to Discovery, which needs no handler; None for any other request."""
        if path != _DISCOVERY_PATH:
            return None
        return self._discovery_response(self._routes[path], body)

    def _discovery_response(self, route: AnyRoute, body: bytes) -> AnsweredRequest:
        """Return the encoded response to Discovery, which is cached until handlers are added."""
        try:
            _decode_request(route, body)
        except HookError as error:
            response = route.failure_response(str(error))
            return AnsweredRequest(route, response.status, DISCOVERY.encode_response(response))
        if not self._discovered:
            self._discovered = DISCOVERY.encode_response(self._discovery())
        return AnsweredRequest(route, SUCCESS, self._discovered)

    def _add(self, route: AnyRoute) -> None:
        path = route.hook.path(route.name)
        if path in self._routes:
            raise ValueError(f"a handler for {path} is already registered")
        self._routes[path], self._discovered = route, b""

    def _check(self, route: AnyRoute) -> None:
        if route.hook.singleton:
            raise ValueError(f"{route.hook.name} is answered by the extension itself")
        if any(item.name == route.name and item.hook != route.hook for item in self.routes):
            raise ValueError(
                f'there is already a handler of another hook that is called "{route.name}"'
            )
        try:
            validate_handlers([route.discovered], self._catalog)
        except BadDiscovery as error:
            raise ValueError(str(error).partition(": ")[2]) from None

    async def _discover(self, _: DiscoveryRequest) -> DiscoveryResponse:
        return self._discovery()

    def _discovery(self) -> DiscoveryResponse:
        return DiscoveryResponse(handlers=[item.discovered for item in self.routes])


def _decode_request(route: AnyRoute, body: bytes) -> Any:
    """Decode the request of a hook. Raises HookError."""
    if len(body) > MAX_BODY:
        raise HookError(f"error reading request: it is larger than {MAX_BODY} bytes")
    return route.hook.decode_request(body)
