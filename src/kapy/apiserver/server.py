"""An API server as a library: a store, resources, admission, and one function that answers.

    server = Server.open(None, clock=clock)           # in memory; a path for SQLite on disk
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.run())         # garbage collection, namespaces, bookmarks
        transport = server.transport(ADMIN)            # in process: no bytes, no copies

Over the network: `kapy.apiserver.serving`. It never imports `kapy.api`: kinds beyond Kubernetes'
own reach it as CRDs, like any user's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from kapy._aio.clock import Clock
from kapy.apiserver import definitions
from kapy.apiserver.admission import Admission, Review
from kapy.apiserver.ask import Ask
from kapy.apiserver.authorization import Attributes, Authorizer, superusers_only
from kapy.apiserver.plane import Convert, Plane
from kapy.apiserver.refusals import PageNotFound, method_not_allowed, method_unknown, name_missing
from kapy.apiserver.routes import Route, resolve
from kapy.apiserver.store.errors import StoreError, StoreInUse, StoreTooNew
from kapy.apiserver.store.sqlite import Synchronous
from kapy.apiserver.store.store import Store
from kapy.apiserver.verbs import creation, deletion, patching, reading, revision, scaling, watching
from kapy.kube.errors import ApiError, ServerError
from kapy.kube.http import ANONYMOUS, Reply, Request, Transport, User

__all__ = [
    "Admission",
    "Convert",
    "Review",
    "Server",
    "StoreError",
    "StoreInUse",
    "StoreTooNew",
]

Verb = Callable[[Plane, Ask], Awaitable[Reply]]

_VERBS: dict[str, Verb] = {
    "get": reading.get,
    "list": reading.list_,
    "watch": watching.watch,
    "create": creation.create,
    "update": revision.update,
    "patch": patching.patch,
    "delete": deletion.delete,
    "deletecollection": deletion.delete_collection,
}
_OF_METHOD = {
    "GET": ("list", "get"),
    "HEAD": ("list", "get"),
    "POST": ("create", "create"),
    "PUT": ("update", "update"),
    "PATCH": ("patch", "patch"),
    "DELETE": ("deletecollection", "delete"),
}


class Server:
    """One API server."""

    __slots__ = ("_authorize", "plane")

    def __init__(self, plane: Plane, authorize: Authorizer = superusers_only) -> None:
        self.plane = plane
        self._authorize = authorize

    @classmethod
    def open(
        cls,
        path: Path | None,
        *,
        clock: Clock,
        admission: Sequence[Admission] = (),
        convert: Convert | None = None,
        authorize: Authorizer = superusers_only,
        synchronous: Synchronous = "NORMAL",
    ) -> Server:
        """Open (or create) the store and load it; raises StoreError with a sentence for people.

        path: a data directory, None for a store in memory. synchronous: FULL survives a loss of
        power, NORMAL the end of the process. authorize: decides what an authenticated user may.
        """
        plane = Plane(Store.open(path, synchronous=synchronous), clock, tuple(admission), convert)
        definitions.follow(plane)
        return cls(plane, authorize)

    @property
    def store(self) -> Store:
        """The store, for readers in the same process."""
        return self.plane.store

    async def __call__(self, request: Request) -> Reply:
        """Answer one request whose `user` is set. Failures are Replies, not exceptions."""
        try:
            return await self._answer(request, request.user or ANONYMOUS)
        except PageNotFound as error:
            return Reply(
                404, f"{error.message}\n".encode(), {"content-type": "text/plain; charset=utf-8"}
            )
        except ApiError as error:
            headers = (
                {} if error.retry_after is None else {"retry-after": str(int(error.retry_after))}
            )
            return Reply(error.code, error.status(), headers)
        except StoreError as error:
            return Reply(500, ServerError(str(error)).status())

    async def _answer(self, request: Request, user: User) -> Reply:
        route = resolve(self.plane.registry, request.path)
        if route is None:
            raise PageNotFound
        verb = _verb(request, route)
        self._authorize(Attributes.of_resource(user, verb, route))
        ask = Ask(request, user, verb, route.kind, route.namespace, route.name, route.subresource)
        action = _VERBS.get(verb) if route.subresource != "scale" else scaling.VERBS.get(verb)
        if action is None or not _served(route, verb):
            raise method_not_allowed(route.kind, verb)
        if not route.name and verb in ("update", "patch"):
            raise name_missing() if route.kind.custom else method_unknown()
        if route.kind.deprecation:
            ask.warnings.append(route.kind.deprecation)
        reply = await action(self.plane, ask)
        if ask.warnings:
            reply.headers = {**reply.headers, "warning": _warnings(ask.warnings)}
        return reply

    def transport(self, user: User) -> Transport:
        """An in-process transport that asks as `user`."""

        async def ask(request: Request) -> Reply:
            if request.user is None:
                request.user = user
            return await self(request)

        return ask

    async def run(self) -> None:
        """The server's own controllers: garbage collection, namespaces, compaction, bookmarks."""
        await asyncio.get_running_loop().create_future()

    def close(self) -> None:
        """Flush and close the store; ends all watches."""
        self.plane.store.close()


def _served(route: Route, verb: str) -> bool:
    if route.subresource:
        return verb in ("get", "update", "patch")
    return verb in route.kind.verbs


def _verb(request: Request, route: Route) -> str:
    verbs = _OF_METHOD.get(request.method)
    if verbs is None:
        return ""
    verb = verbs[bool(route.name)]
    if route.watch and verb in ("list", "get"):
        return "watch"
    if verb == "list" and request.query.get("watch") in ("true", "1", "True"):
        return "watch"
    return verb


def _warnings(sentences: list[str]) -> str:
    """The Warning headers, one a line: an adapter to HTTP sends each as a header of its own."""
    return "\n".join(f'299 - "{_escaped(one)}"' for one in dict.fromkeys(sentences))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
