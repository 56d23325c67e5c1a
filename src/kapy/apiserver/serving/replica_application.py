"""The ASGI application of a process that serves an API server beside the one that writes.

Reads of resources, discovery and OpenAPI are answered from a replica of the store, once it has
every write that was committed before the request arrived. Everything else is forwarded to the
process that writes, which authenticates, authorizes and audits it like any other request: from here
it gets the headers as they came, and the user of the client certificate beside them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.request.request_info import object_info, request_info
from kapy.apiserver.resources.kind import CREATE_ONLY, Kind
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.resources.registry import KindIndex
from kapy.apiserver.server import Server
from kapy.apiserver.serving import asgi_messages
from kapy.apiserver.serving.asgi import Application, send_crowded
from kapy.apiserver.serving.asgi_messages import Receive, Scope, Send
from kapy.apiserver.serving.immediate_request import ImmediateRequest
from kapy.apiserver.store.replica import ReplicaStore
from kapy.apiserver.verbs.read import decode_token
from kapy.kube.digits import parse_digits
from kapy.kube.errors import ApiError
from kapy.kube.http import Request, User

CATCH_UP_SECONDS: Final = 5.0
"""Seconds that a read waits for the replica; then it is forwarded. A timer, because nothing tells
that a write is late.
"""
_READ_PARTS: Final = ("", "status")
_PAGES: Final = ("/version", "/api", "/apis")
_METHODS: Final = ("GET", "HEAD")


Forward = Callable[[Scope, Receive, Send], Awaitable[None]]
"""Forwards one request: `kapy.apiserver.serving.forwarder`."""


class ReplicaApplication:
    """Answers reads on a replica, and forwards the rest.

    server: reads `store`. converts: reports whether objects of a custom kind are converted between
    versions in this process. forwarded_users: names of users whose rights only the process that
    writes knows. forwarded_groups: API groups whose objects only that process converts.
    """

    def __init__(
        self,
        server: Server,
        store: ReplicaStore,
        authentication: Authenticator,
        forward: Forward,
        *,
        converts: Callable[[Kind], bool],
        forwarded_groups: Collection[str] = (),
        forwarded_users: Collection[str] = (),
    ) -> None:
        self._local = Application(server, authentication)
        self._authentication = authentication
        self._rng = server.context.rng
        self._registry = server.context.registry
        self._converter = server.context.converter
        self._store = store
        self._forward = forward
        self._converts = converts
        self._forwarded_groups = frozenset(forwarded_groups)
        self._forwarded_users = frozenset(forwarded_users)
        self._custom: KindIndex | None = None
        self._served: dict[Kind, bool] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        if (
            self._may_be_local(scope)
            and (self._store.is_current or await self._store.catch_up(CATCH_UP_SECONDS))
            and self._is_local(scope)
        ):
            await self._local(scope, receive, send)
            return
        user = self._user(scope)
        introduce = scope.get("state", {}).get("introduce")
        if user is not None and introduce is not None and not introduce(user):
            await send_crowded(scope, send, new_uid(self._rng))
            return
        await self._forward(scope, receive, send)

    def read_at_once(self, head: ImmediateRequest) -> tuple[str, bytes] | None:
        """Return the audit id and the body of the response to a read of one object, None if the
        replica is to be waited for, or another process asked.
        """
        if not self._store.is_current:
            return None
        info = object_info(head.path)
        if info is None:
            return None
        kind = self._registry.find(info.group, info.version, info.resource)
        if kind is None or not self._serves(kind) or not self._may_read(head):
            return None
        return self._local.read_at_once(head)

    def _may_read(self, head: ImmediateRequest) -> bool:
        if not self._forwarded_users:
            return True
        user = head.peer or self._authenticated(head.authorization)
        return user is not None and user.name not in self._forwarded_users

    async def stop(self) -> None:
        """Refuse new requests and end all watches."""
        await self._local.stop()

    def _may_be_local(self, scope: Scope) -> bool:
        """Report whether a request is a read that replicas answer, going by its head."""
        path: str = scope["path"]
        return (
            scope["method"] in _METHODS
            and (path.startswith(("/api/", "/apis/", "/openapi/")) or path in _PAGES)
            and not any(
                name.startswith((b"impersonate-", b"upgrade")) for name, _ in scope["headers"]
            )
        )

    def _is_local(self, scope: Scope) -> bool:
        """Report whether the replica, which is current, has what the request reads."""
        info = request_info(Request(scope["method"], scope["path"]))
        if info.is_resource:
            kind = self._registry.find(info.group, info.version, info.resource)
            if kind is None or info.prefix == "proxy" or info.subresource not in _READ_PARTS:
                return False
            if not self._serves(kind):
                return False
        query = scope["query_string"]
        if query and self._needs_history(asgi_messages.parse_query(scope)):
            return False
        if not self._forwarded_users:
            return True
        user = self._user(scope)
        return user is not None and user.name not in self._forwarded_users

    def _serves(self, kind: Kind) -> bool:
        """Report whether objects of a kind are read here: whether they can be converted here."""
        custom = self._registry.custom
        if custom is not self._custom:
            self._custom = custom
            self._served.clear()
        result = self._served.get(kind)
        if result is None:
            result = self._served[kind] = self._can_convert(kind) and kind.verbs != CREATE_ONLY
        return result

    def _can_convert(self, kind: Kind) -> bool:
        if not kind.custom or self._converts(kind):
            return True
        return kind.resource.group not in self._forwarded_groups and not self._has_webhook(kind)

    def _has_webhook(self, kind: Kind) -> bool:
        definition = self._converter.definition(kind.table) or {}
        conversion = definition.get("spec", {}).get("conversion") or {}
        return bool(conversion.get("strategy") == "Webhook")

    def _needs_history(self, query: dict[str, str]) -> bool:
        """Report whether a read begins at a revision that the replica has forgotten, or has never
        had; the process that writes may still have it.
        """
        floor = self._store.history.floor
        version = parse_digits(query.get("resourceVersion", ""))
        if version is not None and 0 < version < floor:
            return True
        if not query.get("continue"):
            return False
        try:
            return 0 < decode_token(query["continue"]).revision < floor
        except ApiError:
            return False

    def _user(self, scope: Scope) -> User | None:
        """Return the user of a request, None if it cannot be authenticated."""
        peer: User | None = scope.get("state", {}).get("peer")
        if peer is not None:
            return peer
        authorization = next(
            (value for name, value in scope["headers"] if name == b"authorization"), b""
        )
        return self._authenticated(authorization.decode("latin-1"))

    def _authenticated(self, authorization: str) -> User | None:
        try:
            return self._authentication.authenticate(authorization, None)
        except ApiError:
            return None
