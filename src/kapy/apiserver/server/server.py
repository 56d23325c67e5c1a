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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, Final

from kapy._aio.clock import Clock
from kapy.apiserver.admission.plugin import Admission
from kapy.apiserver.auth.authorization import SUPERUSERS, Attributes, Authorizer
from kapy.apiserver.auth.rbac.built_in import BuiltInRights
from kapy.apiserver.controllers.garbage_collector import GarbageCollector
from kapy.apiserver.controllers.namespaces import (
    NamespaceController,
    ensure_system_namespaces,
)
from kapy.apiserver.errors import (
    NoKubelet,
    PageNotFound,
    name_missing,
    no_such_resource,
    unsupported_method,
)
from kapy.apiserver.metrics.counters import ON_WEBHOOKS
from kapy.apiserver.metrics.families import Families
from kapy.apiserver.request.context import RequestContext, is_large_request
from kapy.apiserver.request.limits.max_in_flight import Limits, MaxInFlight
from kapy.apiserver.request.parameters import check_timeout
from kapy.apiserver.request.request_info import RequestInfo, request_info
from kapy.apiserver.request.routing import Route, resolve
from kapy.apiserver.resources.kind import CREATE_ONLY, subresource_verbs
from kapy.apiserver.resources.kind_errors import method_not_allowed
from kapy.apiserver.resources.version_converter import Convert
from kapy.apiserver.server.access_control import AccessControl
from kapy.apiserver.server.assembly import ServerParts, assemble
from kapy.apiserver.server.error_replies import error_reply
from kapy.apiserver.server.health import Health
from kapy.apiserver.server.non_resource_paths import non_resource_reply, openapi_v2
from kapy.apiserver.server.warning_headers import warning_headers
from kapy.apiserver.store.sqlite import Synchronous
from kapy.apiserver.store.store import Store
from kapy.apiserver.verbs import (
    create,
    delete,
    eviction,
    patch,
    read,
    reviews,
    scale,
    token_request,
    update,
    watch,
)
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.serialization import check_acceptable
from kapy.apiserver.verbs.watch import WatchStream
from kapy.apiserver.webhooks.client_config import Services
from kapy.kube.errors import ApiError
from kapy.kube.http import ANONYMOUS, Reply, Request, Transport, User
from kapy.kube.prometheus import text_of

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from kapy.apiserver.audit.auditor import Auditor


BOOKMARK_SECONDS = 60.0
METRICS_TYPE = {"content-type": "text/plain; version=0.0.4; charset=utf-8"}

Verb = Callable[[ServerContext, RequestContext], Awaitable[Reply]]

_VERBS: dict[str, Verb] = {
    "get": read.get,
    "list": read.list_objects,
    "watch": watch.watch,
    "create": create.create,
    "update": update.update,
    "patch": patch.patch,
    "delete": delete.delete,
    "deletecollection": delete.delete_collection,
}
_CONNECTING: Final = frozenset(("exec", "attach", "portforward"))
"""Subresources of Pods that enter a container or reach its ports. A WebSocket to them begins with a
GET and needs the right to create, as kube-apiserver from v1.35 on
(AuthorizePodWebsocketUpgradeCreatePermission).
"""

_PARTS: dict[str, dict[str, Verb]] = {
    "scale": scale.VERBS,
    "eviction": {"create": eviction.evict},
}


class Server:
    """An API server: its store, its handlers of requests, and its controllers.

    has_kubelets: whether a deleted pod waits for the kubelet of its node; otherwise it is removed
    at once. metrics: returns the metric families for `/metrics`; by default the `families` of the
    server and its process. metric_sources: functions that add the metrics of other processes.
    audit: the audit log, None if disabled. pages: additional non-resource pages by path, for
    authorized GET requests. kubelet_requests: handles requests for a pod's kubelet, None if no
    kubelet runs here.
    """

    __slots__ = (
        "_webhook_client",
        "access",
        "audit",
        "context",
        "families",
        "health",
        "kubelet_requests",
        "max_in_flight",
        "metric_sources",
        "metrics",
        "pages",
    )  # fmt: skip

    has_kubelets: ClassVar[bool] = True

    def __init__(
        self,
        parts: ServerParts,
        directory: Path | None = None,
        limits: Limits | None = None,
    ) -> None:
        context = self.context = parts.context
        self._webhook_client = parts.webhook_client
        self.access = AccessControl(context, parts.grants, parts.authorize, directory)
        self.health = Health(lambda: context.store.failure)
        self.max_in_flight = MaxInFlight(limits or Limits())
        self.families = Families(context.metrics, context.store, self.max_in_flight, directory)
        self.metrics: Callable[[], Iterable[Metric]] = self.families.with_process
        self.metric_sources: list[Callable[[list[Metric]], Awaitable[list[Metric]]]] = []
        self.audit: Auditor | None = None
        self.pages: dict[str, Callable[[Request], Reply]] = {}
        self.kubelet_requests: Callable[[Request], Reply | None] | None = None

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
        parts = assemble(
            store,
            clock,
            admission=admission,
            convert=convert,
            authorize=authorize,
            services=services,
            has_kubelets=cls.has_kubelets,
        )
        return cls(parts, path, limits)

    @classmethod
    def on_replica(
        cls, store: Store, *, clock: Clock, convert: Convert | None, limits: Limits | None
    ) -> Server:
        """Return a server that only reads, from a replica of another server's store."""
        parts = assemble(
            store,
            clock,
            admission=(),
            convert=convert,
            authorize=None,
            services=None,
            has_kubelets=cls.has_kubelets,
            is_replica=True,
        )
        return cls(parts, None, limits)

    @property
    def store(self) -> Store:
        """The store, for readers in the same process."""
        return self.context.store

    async def __call__(self, request: Request) -> Reply:
        """Handle one request whose `user` is set. Failures are Replies, not exceptions."""
        began = perf_counter()  # for metrics only: the time of a simulated loop would be wrong here
        server = self.context
        if server.admission.has_webhooks:
            ON_WEBHOOKS.set(0.0)
        route, verb = None, ""
        try:
            user = request.user or ANONYMOUS
            info = request_info(request)
            if "timeout" in request.query:
                check_timeout(request.query["timeout"])
            route = self._route(request, user, info)
            if route is None:
                reply = await self._non_resource_reply(request, user, info)
            else:
                verb = info.verb
                reply = await self._resource_reply(request, user, route, info)
        except NoKubelet as error:  # users without the right got 403
            reply = self._kubelet_reply(request) or error_reply(error, request)
        except Exception as error:
            reply = error_reply(error, request)
        tally = server.metrics.request_counters(request, route, verb)
        if verb == "watch" and isinstance(reply.body, WatchStream):
            tally.open += 1
            reply.body.ended.append(lambda: tally.count_watch(perf_counter() - began))
            return reply
        if server.admission.has_webhooks and (waited := ON_WEBHOOKS.get()):
            tally.count_request_with_webhooks(reply.status, perf_counter() - began, waited)
        else:
            tally.count_request(reply.status, perf_counter() - began)
        if request.arrival is not None and verb in ("get", "list"):
            reply.sent = tally.count_response_size
        return reply

    def count_refused(self, request: Request) -> None:
        """Count a request that was refused because of a limit."""
        info = request_info(request)
        try:
            route = resolve(self.context.registry, info)
        except ApiError:
            route = None
        verb = "" if route is None else info.verb
        self.context.metrics.request_counters(request, route, verb).refused += 1

    def _kubelet_reply(self, request: Request) -> Reply | None:
        """Return the response of a pod's kubelet, None if there is none."""
        try:
            return None if self.kubelet_requests is None else self.kubelet_requests(request)
        except ApiError as refused:
            return error_reply(refused, request)

    def _route(self, request: Request, user: User, info: RequestInfo) -> Route | None:
        """Resolve a request, None for a non-resource path. Raises NotFound, Forbidden."""
        if request.arrival is not None and SUPERUSERS in user.groups:
            request.arrival.decision = "allow"
        try:
            return resolve(self.context.registry, info)
        except ApiError as error:
            self._authorize(request, info.attributes(user))
            connects = isinstance(error, NoKubelet) and info.subresource in _CONNECTING
            if connects and info.verb != "create":
                self._authorize(request, info.attributes(user)._replace(verb="create"))
            raise

    def _authorize(self, request: Request, attributes: Attributes) -> None:
        """Authorize a request and record the reason. Raises Forbidden."""
        if SUPERUSERS in attributes.user.groups:
            return
        arrival = request.arrival
        if arrival is None:
            self.access.authorize(attributes)
            return
        arrival.decision = "forbid"
        arrival.reason = self.access.authorize(attributes)
        arrival.decision = "allow"

    async def _non_resource_reply(self, request: Request, user: User, info: RequestInfo) -> Reply:
        """Answer a request for a non-resource path."""
        if SUPERUSERS not in user.groups:
            self._authorize(request, info.attributes(user))
        if request.path == "/metrics" and request.method == "GET":
            families = list(self.metrics())
            for complete in self.metric_sources:
                families = await complete(families)
            printing = asyncio.get_running_loop().run_in_executor(None, text_of, families)
            return Reply(200, await printing, METRICS_TYPE)
        if request.path == "/openapi/v2" and request.method == "GET":
            accept = request.headers.get("accept", "")
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, openapi_v2, self.context.registry, accept)
        if request.path in self.pages and request.method == "GET":
            return self.pages[request.path](request)
        result = non_resource_reply(
            self.context.registry, self.health, request
        ) or self.access.openid_page(request)
        if result is None:
            if request.path.startswith("/api/") and "//" not in request.path:
                raise no_such_resource()
            raise PageNotFound
        return result

    async def _resource_reply(
        self, request: Request, user: User, route: Route, info: RequestInfo
    ) -> Reply:
        """Answer a request for a resource; errors carry warnings, too."""
        verb = info.verb
        context = RequestContext(
            request, user, verb, route.kind, route.namespace, route.name, route.subresource
        )
        context.large_work = self.context.large_work
        context.is_large = request.arrival is not None and is_large_request(request)
        own = self.access.grants.built_in
        if (
            own is None
            or user is not own.user
            or (route.kind, verb, route.subresource) not in own.allowed_reads
        ):
            self._authorize_resource(context, own, info)
        if route.kind.deprecation:
            context.warnings.append(route.kind.deprecation)
        try:
            if route.kind.verbs == CREATE_ONLY:
                reply = await self._access_review_reply(context)
            elif request.method != "GET" and _has_no_handler(route, request.method):
                raise unsupported_method()
            elif route.subresource == "token" and verb == "create":
                reply = await token_request.request_token(self.context, context, self.access.tokens)
            else:
                action = _find_handler(route, verb)
                if "accept" in request.headers:
                    check_acceptable(context)
                reply = await action(self.context, context)
        except ApiError as error:
            if not context.warnings:
                raise
            reply = error_reply(error, context.request)
        if context.warnings and (header := warning_headers(context.warnings)):
            reply.headers = {**reply.headers, "warning": header}
        return reply

    def _authorize_resource(
        self, context: RequestContext, own: BuiltInRights | None, info: RequestInfo
    ) -> None:
        """Authorize a request for a resource. Raises Forbidden.

        own: the rights of a program in this process, which apply if it is the user of the request.
        """
        user = context.user
        if SUPERUSERS in user.groups:
            return
        program = own if own is not None and user is own.user else None
        if program is None or not program.allows_all(
            context.kind, context.verb, context.subresource
        ):
            self._authorize(context.request, info.attributes(user))
        self.access.add_checks(context)

    async def _access_review_reply(self, context: RequestContext) -> Reply:
        """Answer an access review. Raises NotFound, MethodNotAllowed."""
        if context.name:
            raise no_such_resource()
        if context.verb != "create":
            raise unsupported_method()
        return await reviews.answer_review(self.context, context, self.access.review_authorizer())

    def transport(self, user: User) -> Transport:
        """Return an in-process transport whose requests have this user."""

        async def answer(request: Request) -> Reply:
            if request.user is None:
                request.user = user
            if self.audit is None:
                return await self(request)
            return await self.audit.audit_in_process(request, self)

        return answer

    async def run(self) -> None:
        """Run the server's controllers: garbage collection, namespaces, compaction, bookmarks."""
        ensure_system_namespaces(self.context)
        self.access.start()
        async with self._webhook_connections(), asyncio.TaskGroup() as group:
            group.create_task(GarbageCollector(self.context).run())
            group.create_task(NamespaceController(self.context).run())
            group.create_task(self._send_bookmarks())
            group.create_task(self.context.store.run_compaction())
            if self.audit is not None:
                group.create_task(self.audit.run())

    async def run_replica(self) -> None:
        """Run the tasks of a server on a replica: compaction, bookmarks, and its audit."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send_bookmarks())
            group.create_task(self.context.store.run_compaction())
            if self.audit is not None:
                group.create_task(self.audit.run())

    @asynccontextmanager
    async def _webhook_connections(self) -> AsyncIterator[None]:
        """Keep connections to webhooks open while the context is active."""
        self._webhook_client.open()
        try:
            yield
        finally:
            await self._webhook_client.aclose()

    async def _send_bookmarks(self) -> None:
        """Send bookmarks to watchers. This needs a timer, because a bookmark reports that there
        were no events for a watcher.
        """
        store = self.context.store
        while True:
            await asyncio.sleep(BOOKMARK_SECONDS)
            store.bookmark(store.revision)

    def close(self) -> None:
        """Flush and close the store; ends all watches."""
        self.context.large_work.close()
        self.context.store.close()


class ServerWithoutKubelets(Server):
    """A server whose nodes run nothing: a deleted pod is removed at once."""

    __slots__ = ()

    has_kubelets = False


def _find_handler(route: Route, verb: str) -> Verb:
    """Return the handler of a request. Raises MethodNotAllowed, BadRequest."""
    action = _PARTS.get(route.subresource, _VERBS).get(verb)
    if verb == "deletecollection" and route.kind.table == "namespaces":
        raise unsupported_method()
    if action is None or not is_served(route, verb):
        builtin_part = route.subresource and not route.kind.custom
        raise unsupported_method() if builtin_part else method_not_allowed(route.kind, verb)
    if not route.name and verb in ("update", "patch"):
        raise name_missing() if route.kind.custom else unsupported_method()
    return action


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _has_no_handler(route: Route, method: str) -> bool:
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


def is_served(route: Route, verb: str) -> bool:
    """Report whether a verb is served at a path."""
    return verb in (subresource_verbs(part) if (part := route.subresource) else route.kind.verbs)
