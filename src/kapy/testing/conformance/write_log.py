"""The write log: the writes of a provider, as the API server received them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kapy.apiserver.request.request_info import request_info
from kapy.apiserver.request.routing import resolve
from kapy.apiserver.server import Server
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.http import Reply, Request, Transport

PROVIDER_USER: Final = "conformance:provider"
"""The user name of a provider whose permissions are not known."""
AT_ONCE: Final = 2000
"""The number of requests in one moment of virtual time after which the next one is delayed. Without
a delay virtual time would stand still, and no check of a provider that floods the server would
end."""
_WHILE: Final = 0.1
_BESIDES: Final = frozenset({"events", "leases"})
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Write:
    """A modifying request of the provider, and its result.

    verb: create, update, patch or delete. plural, group: the plural name and the API group of the
    resource. after: the object in the response; None if the request was refused.
    """

    verb: str
    plural: str
    group: str
    key: Key
    subresource: str = ""
    after: Document | None = None
    code: int = 200
    dry_run: bool = False

    @property
    def version(self) -> str:
        """The resulting resourceVersion, "" if it is not known."""
        return str(((self.after or {}).get("metadata") or {}).get("resourceVersion", ""))

    @property
    def created(self) -> bool:
        """Return whether the write created the object, by a create or by a server-side apply."""
        return self.verb == "create" or self.code == 201

    @property
    def accepted(self) -> bool:
        """Return whether the write was accepted and took effect."""
        return self.code < 400 and not self.dry_run

    def __str__(self) -> str:
        part = f"/{self.subresource}" if self.subresource else ""
        refused = "" if self.code < 400 else f" (refused: {self.code})"
        return f"{self.verb} {self.plural}{part} {self.key}{refused}"


@dataclass
class WriteLog:
    """All writes of the provider, in order. events: the number of Events that it wrote, by
    namespace. request_received: an event that is set by its first request.
    """

    writes: list[Write] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    request_received: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, write: Write) -> None:
        """Record a write; Leases are ignored."""
        if write.plural == "events":
            namespace = write.key.namespace
            self.events[namespace] = self.events.get(namespace, 0) + 1
        if write.plural not in _BESIDES:
            self.writes.append(write)

    def of(self, namespace: str, since: int = 0) -> list[Write]:
        """Return the writes in a namespace, from a position on."""
        return [write for write in self.writes[since:] if write.key.namespace == namespace]


class RecordingServer(Server):
    """An API server that records the writes of one user.

    user: the recorded user; write_log: the record. handler: handles all requests of that user.
    """

    __slots__ = ("_at_once", "_moment", "handler", "user", "write_log")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.write_log = WriteLog()
        self.user = PROVIDER_USER
        self.handler: Transport = self.answer_and_record
        self._moment, self._at_once = 0.0, 0

    async def __call__(self, request: Request) -> Reply:
        if request.user is None or request.user.name != self.user:
            return await super().__call__(request)
        return await self.handler(request)

    async def answer_and_record(self, request: Request) -> Reply:
        """Handle the user's request, and record it if it is a write."""
        await self._let_time_pass()
        reply = await super().__call__(request)
        self.write_log.request_received.set()
        if request.method in _VERBS:
            self._record(request, reply)
        return reply

    async def _let_time_pass(self) -> None:
        now = asyncio.get_running_loop().time()
        self._at_once = self._at_once + 1 if now == self._moment else 1
        self._moment = now
        if self._at_once > AT_ONCE:
            await asyncio.sleep(_WHILE)

    def _record(self, request: Request, reply: Reply) -> None:
        try:
            route = resolve(self.context.registry, request_info(request))
        except ApiError:
            return
        if route is None or not route.kind.resource.plural:
            return
        after = _document(reply)
        name = route.name or (after or {}).get("metadata", {}).get("name", "")
        resource = route.kind.resource
        self.write_log.add(
            Write(
                _VERBS[request.method],
                resource.plural,
                resource.group,
                Key(route.namespace, name),
                route.subresource,
                after if reply.status < 400 else None,
                reply.status,
                "dryRun" in request.query,
            )
        )


def _document(reply: Reply) -> Document | None:
    body = reply.body
    if isinstance(body, bytes):
        try:
            body = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return None
    return body if isinstance(body, dict) else None
