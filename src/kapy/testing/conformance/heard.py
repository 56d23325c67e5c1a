"""What a provider wrote, as the API server heard it: the evidence of checks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kapy.apiserver.request_info import request_info
from kapy.apiserver.routes import resolve
from kapy.apiserver.server import Server
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.http import Reply, Request, Transport

SUBJECT: Final = "conformance:provider"
"""The user that a provider is where nothing is known of its rights."""
AT_ONCE: Final = 2000
"""Requests in one moment of virtual time after which the next one takes a while: where nobody ever
waits, that time stands still, and no check of a provider that floods would end."""
_WHILE: Final = 0.1
_BESIDES: Final = frozenset({"events", "leases"})
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Write:
    """A request of the provider that changes something, and how it was answered.

    verb: create, update, patch or delete. plural, group: of the resource. after: the object as
    the answer has it; None where it is refused.
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
        """The resourceVersion that it made, "" where none is known."""
        return str(((self.after or {}).get("metadata") or {}).get("resourceVersion", ""))

    @property
    def created(self) -> bool:
        """Whether the object is new; a patch that applies may make it, too."""
        return self.verb == "create" or self.code == 201

    @property
    def done(self) -> bool:
        """Whether it was acted upon."""
        return self.code < 400 and not self.dry_run

    def __str__(self) -> str:
        part = f"/{self.subresource}" if self.subresource else ""
        refused = "" if self.code < 400 else f" (refused: {self.code})"
        return f"{self.verb} {self.plural}{part} {self.key}{refused}"


@dataclass
class Ledger:
    """All writes of the provider, in order. events: how many Events it wrote, by namespace.
    asked: set by any request of it."""

    writes: list[Write] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, write: Write) -> None:
        """Note one; leases are nobody's business."""
        if write.plural == "events":
            namespace = write.key.namespace
            self.events[namespace] = self.events.get(namespace, 0) + 1
        if write.plural not in _BESIDES:
            self.writes.append(write)

    def of(self, namespace: str, since: int = 0) -> list[Write]:
        """Those in a namespace, from a position on."""
        return [one for one in self.writes[since:] if one.key.namespace == namespace]


class HearingServer(Server):
    """An API server that keeps what one user writes.

    user: whose writes; ledger: where to. door: what all requests of that user go through first.
    """

    __slots__ = ("_at_once", "_moment", "door", "ledger", "user")

    def __init__(self, *told: Any) -> None:
        super().__init__(*told)
        self.ledger = Ledger()
        self.user = SUBJECT
        self.door: Transport = self.heard
        self._moment, self._at_once = 0.0, 0

    async def __call__(self, request: Request) -> Reply:
        if request.user is None or request.user.name != self.user:
            return await super().__call__(request)
        return await self.door(request)

    async def heard(self, request: Request) -> Reply:
        """Answer that user, and keep what was written."""
        await self._let_time_pass()
        reply = await super().__call__(request)
        self.ledger.asked.set()
        if request.method in _VERBS:
            self._hear(request, reply)
        return reply

    async def _let_time_pass(self) -> None:
        now = asyncio.get_running_loop().time()
        self._at_once = self._at_once + 1 if now == self._moment else 1
        self._moment = now
        if self._at_once > AT_ONCE:
            await asyncio.sleep(_WHILE)

    def _hear(self, request: Request, reply: Reply) -> None:
        try:
            route = resolve(self.plane.registry, request_info(request))
        except ApiError:
            return
        if route is None or not route.kind.resource.plural:
            return
        after = _document(reply)
        name = route.name or (after or {}).get("metadata", {}).get("name", "")
        resource = route.kind.resource
        self.ledger.add(
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
