"""Answering hooks: handlers are registered on an Extension; `kapy.hooks.application` serves it.

    extension = Extension()

    @extension.handles(BEFORE_CLUSTER_UPGRADE, name="freeze-window", timeout_seconds=5)
    async def freeze_window(request: BeforeClusterUpgradeRequest) -> RetryResponse:
        if request.to_kubernetes_version == "v1.33.0":
            return RetryResponse.wait(600, "change freeze until Monday")
        return RetryResponse()

A handler whose signature does not fit its hook is a type error. It fails by raising HookFailed or
by answering `refuse(…)`; whatever else it raises is a failure that tells no detail, and a log line.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeAlias

from kapy.hooks.catalog import Catalog, installed
from kapy.hooks.discovery import accepted
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
    """A handler, and what discovery says about it."""

    hook: Hook[Req, Resp]
    name: str
    handler: Handler[Req, Resp]
    timeout_seconds: int
    failure_policy: Literal["Fail", "Ignore"]

    async def respond(self, request: Req) -> Resp:
        """What the handler answers; a handler that fails is a response too."""
        try:
            answer = await self.handler(request)
            if isinstance(answer, self.hook.response):
                return answer
            said, wanted = type(answer).__name__, self.hook.response.__name__
            raise TypeError(f"it answered with {said}, and not with {wanted}")
        except HookError as error:
            return self.failed(str(error))
        except (Exception, SystemExit):  # who answers one request does not end the server
            _log.exception("the handler %s of %s failed", self.name, self.hook.name)
            return self.failed("internal error: see the log of the extension")

    def failed(self, message: str) -> Resp:
        """A response that says what went wrong."""
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


class Answered:
    """One request's answer: the bytes, and what a log and metrics say about it."""

    __slots__ = ("body", "route", "status")

    def __init__(self, route: AnyRoute, status: str, body: bytes) -> None:
        self.route = route
        self.status = status
        self.body = body


class Extension:
    """The handlers of one runtime extension. Knows no transport.

    catalog: the hooks that there are, if not only kapy's own.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = installed() if catalog is None else catalog
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

        Raises ValueError for what discovery could not say.
        """

        def register(handler: Handler[Req, Resp]) -> Handler[Req, Resp]:
            route = Route(hook, name, handler, timeout_seconds, failure_policy)
            self._check(route)
            self._add(route)
            return handler

        return register

    @property
    def routes(self) -> list[AnyRoute]:
        """All handlers that have a name, by their paths."""
        return [route for _, route in sorted(self._routes.items()) if route.name]

    def route(self, hook: Hook[Req, Resp], name: str = "") -> Route[Req, Resp]:
        """The handler of a hook. Raises ValueError if there is none."""
        found = self._routes.get(hook.path(name))
        if found is None:
            there = ", ".join(f"{one.name} ({one.hook.name})" for one in self.routes) or "none"
            raise ValueError(f'no handler "{name}" of {hook.name}; there are: {there}')
        return found

    async def dispatch(self, path: str, body: bytes) -> bytes | None:
        """Answer one request; None when no handler lives at that path."""
        answered = await self.answer(path, body)
        return None if answered is None else answered.body

    async def answer(self, path: str, body: bytes) -> Answered | None:
        """As `dispatch`, with what a log says about it."""
        route = self._routes.get(path)
        if route is None:
            return None
        if route.hook is DISCOVERY:
            return self._discovery_answered(route, body)
        try:
            response = await route.respond(_decoded(route, body))
        except HookError as error:
            response = route.failed(str(error))
        return Answered(route, response.status, route.hook.encode_response(response))

    def answer_at_once(self, path: str, body: bytes) -> Answered | None:
        """The answer to Discovery, which nobody has to think about; None to anything else."""
        if path != _DISCOVERY_PATH:
            return None
        return self._discovery_answered(self._routes[path], body)

    def _discovery_answered(self, route: AnyRoute, body: bytes) -> Answered:
        """It is encoded once, and the same until there are other handlers."""
        try:
            _decoded(route, body)
        except HookError as error:
            response = route.failed(str(error))
            return Answered(route, response.status, DISCOVERY.encode_response(response))
        if not self._discovered:
            self._discovered = DISCOVERY.encode_response(self._discovery())
        return Answered(route, SUCCESS, self._discovered)

    def _add(self, route: AnyRoute) -> None:
        path = route.hook.path(route.name)
        if path in self._routes:
            raise ValueError(f"a handler for {path} is already registered")
        self._routes[path], self._discovered = route, b""

    def _check(self, route: AnyRoute) -> None:
        if route.hook.singleton:
            raise ValueError(f"{route.hook.name} is answered by the extension itself")
        if any(one.name == route.name and one.hook != route.hook for one in self.routes):
            raise ValueError(
                f'there is already a handler of another hook that is called "{route.name}"'
            )
        try:
            accepted([route.discovered], self._catalog)
        except BadDiscovery as error:
            raise ValueError(str(error).partition(": ")[2]) from None

    async def _discover(self, _: DiscoveryRequest) -> DiscoveryResponse:
        return self._discovery()

    def _discovery(self) -> DiscoveryResponse:
        return DiscoveryResponse(handlers=[one.discovered for one in self.routes])


def _decoded(route: AnyRoute, body: bytes) -> Any:
    """A request. Raises HookError."""
    if len(body) > MAX_BODY:
        raise HookError(f"error reading request: it is larger than {MAX_BODY} bytes")
    return route.hook.decode_request(body)
