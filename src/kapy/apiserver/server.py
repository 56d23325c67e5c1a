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
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from kapy._aio.clock import Clock
from kapy.apiserver.access import Access
from kapy.apiserver.admission import Admission, Review
from kapy.apiserver.ask import Ask, is_large
from kapy.apiserver.authorization import SUPERUSERS, Attributes, Authorizer
from kapy.apiserver.controllers.collector import Collector
from kapy.apiserver.controllers.namespaces import (
    NamespaceController,
    ensure_system_namespaces,
)
from kapy.apiserver.definitions import Definitions
from kapy.apiserver.failures import failure
from kapy.apiserver.health import Health
from kapy.apiserver.pages import page, swagger
from kapy.apiserver.parameters import check_timeout
from kapy.apiserver.plane import Convert, Plane
from kapy.apiserver.rbac.built_in import BuiltInRights
from kapy.apiserver.refusals import (
    NothingRuns,
    PageNotFound,
    method_not_allowed,
    method_unknown,
    name_missing,
    no_such_resource,
)
from kapy.apiserver.request_info import RequestInfo, request_info
from kapy.apiserver.resources.kind import CREATE_ONLY, subresource_verbs
from kapy.apiserver.routes import Route, resolve
from kapy.apiserver.shown import check_acceptable
from kapy.apiserver.store.errors import StoreError, StoreInUse, StoreTooNew
from kapy.apiserver.store.sqlite import Synchronous
from kapy.apiserver.store.store import Store
from kapy.apiserver.traffic.counts import ON_WEBHOOKS
from kapy.apiserver.traffic.families import Families
from kapy.apiserver.traffic.inflight import InFlight, Limits
from kapy.apiserver.verbs import (
    creation,
    deletion,
    eviction,
    patching,
    reading,
    reviews,
    revision,
    scaling,
    token_request,
    watching,
)
from kapy.apiserver.verbs.watching import WatchStream
from kapy.apiserver.warnings import warning_headers
from kapy.apiserver.webhooks.clients import Services
from kapy.apiserver.webhooks.following import Following
from kapy.kube.errors import ApiError
from kapy.kube.http import ANONYMOUS, Reply, Request, Transport, User
from kapy.kube.prometheus import text_of

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from kapy.apiserver.audit.auditor import Auditor

__all__ = [
    "Admission",
    "Convert",
    "Review",
    "Server",
    "StoreError",
    "StoreInUse",
    "StoreTooNew",
]

_log = logging.getLogger(__name__)

BOOKMARK_SECONDS = 60.0
METRICS_TYPE = {"content-type": "text/plain; version=0.0.4; charset=utf-8"}

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
_PARTS: dict[str, dict[str, Verb]] = {
    "scale": scaling.VERBS,
    "eviction": {"create": eviction.evict},
}


class Server:
    """One API server.

    metrics: what `/metrics` returns; outside a plane, the `families` of the server and its process.
    audit: the audit log, None if disabled. pages: additional non-resource pages by path, for
    authorized GET requests. pods: answers requests for a pod's kubelet, if one runs here.
    """

    __slots__ = (
        "access", "audit", "families", "health", "inflight", "metrics", "pages", "plane", "pods",
    )  # fmt: skip

    def __init__(
        self,
        plane: Plane,
        authorize: Authorizer | None = None,
        directory: Path | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.plane = plane
        self.access = Access(plane, authorize, directory)
        self.health = Health(lambda: plane.store.failure)
        self.inflight = InFlight(limits or Limits())
        self.families = Families(plane.traffic, plane.store, self.inflight, directory)
        self.metrics: Callable[[], Iterable[Metric]] = self.families.with_process
        self.audit: Auditor | None = None
        self.pages: dict[str, Callable[[Request], Reply]] = {}
        self.pods: Callable[[Request], Reply | None] | None = None

    @classmethod
    def open(
        cls,
        path: Path | None,
        *,
        clock: Clock,
        admission: Sequence[Admission] = (),
        convert: Convert | None = None,
        authorize: Authorizer | None = None,
        synchronous: Synchronous = "NORMAL",
        services: Services | None = None,
        limits: Limits | None = None,
        accept_loss: bool = False,
    ) -> Server:
        """Open (or create) the store and load it. Raises StoreError with a message for users.

        path: a data directory, None for a store in memory. synchronous: FULL survives a loss of
        power, NORMAL the end of the process. authorize: authorizes users other than superusers; by
        default RBAC with the roles in the store. services: base URLs of webhook Services by
        (namespace, name, port). limits: the most concurrent requests over the network. accept_loss:
        continue if acknowledged writes are missing on disk.
        """
        store = Store.open(path, synchronous=synchronous, clock=clock, accept_loss=accept_loss)
        plane = Plane(store, clock, tuple(admission), convert)
        Definitions(plane)
        Following(plane, services)
        plane.store.listeners.append(plane.traffic.changed)
        return cls(plane, authorize, path, limits)

    @property
    def store(self) -> Store:
        """The store, for readers in the same process."""
        return self.plane.store

    async def __call__(self, request: Request) -> Reply:
        """Answer one request whose `user` is set. Failures are Replies, not exceptions."""
        began = perf_counter()  # for metrics only: the time of a simulated loop would be wrong here
        plane = self.plane
        if plane.webhooks:
            ON_WEBHOOKS.set(0.0)
        route, verb = None, ""
        try:
            user = request.user or ANONYMOUS
            info = request_info(request)
            if "timeout" in request.query:
                check_timeout(request.query["timeout"])
            route = self._route(request, user, info)
            if route is None:
                reply = await self._page(request, user, info)
            else:
                verb = info.verb
                reply = await self._resource(request, user, route, info)
        except NothingRuns as error:  # users without the right got 403
            reply = self._of_kubelet(request) or failure(error, request)
        except Exception as error:
            reply = failure(error, request)
        tally = plane.traffic.tally(request, route, verb)
        if verb == "watch" and isinstance(reply.body, WatchStream):
            tally.open += 1
            reply.body.ended.append(lambda: tally.watched(perf_counter() - began))
            return reply
        if plane.webhooks and (waited := ON_WEBHOOKS.get()):
            tally.waited(reply.status, perf_counter() - began, waited)
        else:
            tally.answered(reply.status, perf_counter() - began)
        if request.arrival is not None and verb in ("get", "list"):
            reply.sent = tally.sent
        return reply

    def refused(self, request: Request) -> None:
        """Count a request that was refused because of a limit."""
        info = request_info(request)
        try:
            route = resolve(self.plane.registry, info)
        except ApiError:
            route = None
        verb = "" if route is None else info.verb
        self.plane.traffic.tally(request, route, verb).refused += 1

    def _of_kubelet(self, request: Request) -> Reply | None:
        """Return the response of a pod's kubelet, None if there is none."""
        try:
            return None if self.pods is None else self.pods(request)
        except ApiError as refused:
            return failure(refused, request)

    def _route(self, request: Request, user: User, info: RequestInfo) -> Route | None:
        """Resolve a request, None for a non-resource path. Raises NotFound, Forbidden."""
        if request.arrival is not None and SUPERUSERS in user.groups:
            request.arrival.decision = "allow"
        try:
            return resolve(self.plane.registry, info)
        except ApiError:
            self._allow(request, info.attributes(user))
            raise

    def _allow(self, request: Request, asked: Attributes) -> None:
        """Authorize a request and record the reason. Raises Forbidden."""
        if SUPERUSERS in asked.user.groups:
            return
        told = request.arrival
        if told is None:
            self.access.authorize(asked)
            return
        told.decision = "forbid"
        told.reason = self.access.authorize(asked)
        told.decision = "allow"

    async def _page(self, request: Request, user: User, info: RequestInfo) -> Reply:
        """Answer a request for a non-resource path."""
        if SUPERUSERS not in user.groups:
            self._allow(request, info.attributes(user))
        if request.path == "/metrics" and request.method == "GET":
            families = list(self.metrics())
            printing = asyncio.get_running_loop().run_in_executor(None, text_of, families)
            return Reply(200, await printing, METRICS_TYPE)
        if request.path == "/openapi/v2" and request.method == "GET":
            accept = request.headers.get("accept", "")
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, swagger, self.plane.registry, accept)
        if request.path in self.pages and request.method == "GET":
            return self.pages[request.path](request)
        found = page(self.plane.registry, self.health, request) or self.access.page(request)
        if found is None:
            if request.path.startswith("/api/") and "//" not in request.path:
                raise no_such_resource()
            raise PageNotFound
        return found

    async def _resource(
        self, request: Request, user: User, route: Route, info: RequestInfo
    ) -> Reply:
        """Answer a request for a resource; errors carry warnings, too."""
        verb = info.verb
        ask = Ask(request, user, verb, route.kind, route.namespace, route.name, route.subresource)
        ask.places = self.plane.large
        ask.large = request.arrival is not None and is_large(request)
        own = self.access.grants.built_in
        if (
            own is None
            or user is not own.user
            or (route.kind, verb, route.subresource) not in own.read
        ):
            self._admit(ask, own, info)
        if route.kind.deprecation:
            ask.warnings.append(route.kind.deprecation)
        try:
            if route.kind.verbs == CREATE_ONLY:
                reply = await self._review(ask)
            elif request.method != "GET" and _unknown(route, request.method):
                raise method_unknown()
            elif route.subresource == "token" and verb == "create":
                reply = await token_request.request_token(self.plane, ask, self.access.tokens)
            else:
                action = _action(route, verb)
                if "accept" in request.headers:
                    check_acceptable(ask)
                reply = await action(self.plane, ask)
        except ApiError as error:
            if not ask.warnings:
                raise
            reply = failure(error, ask.request)
        if ask.warnings and (told := warning_headers(ask.warnings)):
            reply.headers = {**reply.headers, "warning": told}
        return reply

    def _admit(self, ask: Ask, own: BuiltInRights | None, info: RequestInfo) -> None:
        """Authorize a request. own: the rights of a program in this process. Raises Forbidden."""
        user = ask.user
        if SUPERUSERS in user.groups:
            return
        program = own if own is not None and user is own.user else None
        if program is None or not program.has(ask.kind, ask.verb, ask.subresource):
            self._allow(ask.request, info.attributes(user))
        self.access.equip(ask)

    async def _review(self, ask: Ask) -> Reply:
        """Answer an access review. Raises NotFound, MethodNotAllowed."""
        if ask.name:
            raise no_such_resource()
        if ask.verb != "create":
            raise method_unknown()
        return await reviews.review(self.plane, ask, self.access.answering())

    def transport(self, user: User) -> Transport:
        """Return an in-process transport whose requests have this user."""

        async def ask(request: Request) -> Reply:
            if request.user is None:
                request.user = user
            if self.audit is None:
                return await self(request)
            return await self.audit.audited(request, self)

        return ask

    async def run(self) -> None:
        """Run the server's controllers: garbage collection, namespaces, compaction, bookmarks."""
        ensure_system_namespaces(self.plane)
        self.access.start()
        async with self._connected(), asyncio.TaskGroup() as group:
            group.create_task(Collector(self.plane).run())
            group.create_task(NamespaceController(self.plane).run())
            group.create_task(self._bookmarks())
            group.create_task(self.plane.store.compacting())
            if self.audit is not None:
                group.create_task(self.audit.run())

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        """Keep connections to webhooks in this block."""
        following = self.plane.following
        assert following is not None
        following.serve()
        try:
            yield
        finally:
            await following.aclose()

    async def _bookmarks(self) -> None:
        """Send bookmarks to watchers. This needs a timer, because it reports that nothing
        happened.
        """
        store = self.plane.store
        while True:
            await asyncio.sleep(BOOKMARK_SECONDS)
            store.bookmark(store.revision)

    def close(self) -> None:
        """Flush and close the store; ends all watches."""
        self.plane.large.close()
        self.plane.store.close()


def _action(route: Route, verb: str) -> Verb:
    """Return the handler of a request. Raises MethodNotAllowed, BadRequest."""
    action = _PARTS.get(route.subresource, _VERBS).get(verb)
    if verb == "deletecollection" and route.kind.table == "namespaces":
        raise method_unknown()
    if action is None or not _served(route, verb):
        builtin_part = route.subresource and not route.kind.custom
        raise method_unknown() if builtin_part else method_not_allowed(route.kind, verb)
    if not route.name and verb in ("update", "patch"):
        raise name_missing() if route.kind.custom else method_unknown()
    return action


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _unknown(route: Route, method: str) -> bool:
    """Report whether no handler supports this method (other than GET) here. Raises PageNotFound.

    Custom resources can be created at the path of an object with the same name.
    """
    if route.watch:
        return True
    if route.kind.namespaced and not route.namespace and method != "HEAD":
        if route.kind.custom:
            raise PageNotFound
        return True
    if route.kind.custom:
        return False
    if method == "POST":
        return bool(route.name) and not route.subresource
    return method not in _METHODS


def _served(route: Route, verb: str) -> bool:
    return verb in (subresource_verbs(part) if (part := route.subresource) else route.kind.verbs)
