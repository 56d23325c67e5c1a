"""The plane's answers to one of its workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kapy.apps.workers.channel import API, CONFIGURATION, DIAL, DIALED, EXPIRY, HANG_UP, HOOK
from kapy.apps.workers.clusters import DialedClusters
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.providers.inmemory import InMemoryClusters

if TYPE_CHECKING:
    from kapy.hooks.transport import HookTransport


class WorkerRequests:
    """Answers the requests of one worker. api: sends requests to the API server with the rights of
    controllers. hooks: calls runtime extensions, None if they are not called.
    """

    def __init__(
        self,
        api: Transport,
        clusters: InMemoryClusters,
        configuration: Callable[[], bytes],
        notice: Callable[[str, Any], None],
        hooks: HookTransport | None = None,
    ) -> None:
        self._api = api
        self._dialed = DialedClusters(clusters)
        self._configuration = configuration
        self._notice = notice
        self._hooks = hooks

    async def answer(self, target: str, request: Request) -> Reply:
        """Answer one request of the worker. Raises Unreachable and ApiError."""
        if target == API:
            return await self._api(request)
        if target.startswith(DIALED):
            transport = self._dialed.transport(target)
            if transport is None:
                raise Unreachable("this connection to a simulated cluster was closed")
            return await transport(request)
        if target == DIAL:
            return self._dialed.dial(request)
        if target == EXPIRY:
            return await self._dialed.certificate_expiry(request)
        if target == HOOK and self._hooks is not None:
            from kapy.apps.workers.hooks import (
                call_hook,  # all hooks: most planes have no extension
            )

            return await call_hook(self._hooks, request)
        if target == CONFIGURATION:
            return Reply(200, self._configuration())
        raise Unreachable(f"a plane answers nothing to {target}")

    def take_notice(self, name: str, value: Any) -> None:
        """Handle a notice of the worker."""
        if name == HANG_UP:
            self._dialed.hang_up(value)
        else:
            self._notice(name, value)
