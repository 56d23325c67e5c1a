"""Creates the fleet page of an embedded plane, or serves that of any API server from this
machine.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from kapy._aio.clock import Clock
from kapy.kube.http import User

if TYPE_CHECKING:
    from kapy.apiserver.server import Server
    from kapy.apps.settings import Pages
    from kapy.client.client import Client
    from kapy.ui.application import FleetPages
    from kapy.ui.page import Planner

LOCAL_USER: Final = User("kubeconfig")
"""The user of pages that are served with the credentials of a kubeconfig."""
FIELD_MANAGER: Final = "kapy-ui"


def fleet_pages(server: Server, clock: Clock, settings: Pages) -> FleetPages:
    """Return the pages of a plane: each viewer asks its API server in process, as themselves."""
    from kapy.client.client import Client
    from kapy.ui.application import FleetPages
    from kapy.ui.page import PageOptions

    def namespaces() -> list[str]:
        table = server.store.peek("namespaces")
        return [] if table is None else list(table.namespaces.get("", ()))

    def connect(user: User) -> Client:
        return Client(server.transport(user), field_manager=FIELD_MANAGER)

    options = PageOptions(secure=True, namespaces=namespaces, plan=settings.plan)
    return FleetPages(connect, clock=clock, options=options)


@asynccontextmanager
async def local_pages(
    client: Client, *, clock: Clock, port: int, namespace: str, plan: Planner | None
) -> AsyncIterator[tuple[FleetPages, str]]:
    """Serve the pages on 127.0.0.1 with the rights of a client; yields them and their URL.

    Raises OSError if the port is in use.
    """
    from kapy.apiserver.serving import listen
    from kapy.ui.application import FleetPages
    from kapy.ui.page import PageOptions

    site = LocalSite()
    async with listen(site, host="127.0.0.1", port=port) as (_, bound):
        hosts = frozenset({f"127.0.0.1:{bound}", f"localhost:{bound}"})
        options = PageOptions(
            secure=False,
            hosts=hosts,
            cookie=f"kapy-ui-{bound}",  # cookies are shared between ports
            namespaces=lambda: [namespace],
            plan=plan,
        )
        pages = FleetPages(lambda _: client, clock=clock, options=options)
        site.pages = pages
        async with pages.running():
            yield pages, f"http://127.0.0.1:{bound}"


class LocalSite:
    """An ASGI application that serves the pages, and nothing else."""

    def __init__(self) -> None:
        self.pages: FleetPages | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from kapy._aio.asgi import send_reply
        from kapy.apiserver.serving.asgi import first_segment

        if self.pages is None or first_segment(scope["path"]) != "ui":
            await send_reply(send, 404, b"text/plain", b"the pages are at /ui/\n")
            return
        await self.pages(scope, receive, send)

    async def stop(self) -> None:
        if self.pages is not None:
            await self.pages.stop()
