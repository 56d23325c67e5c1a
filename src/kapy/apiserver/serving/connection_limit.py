"""How many connections may be open, and which one ends where there is no room for a new one.

A stranger is a connection whose client has not shown who it is: it is in the TLS handshake, has
sent nothing, or is anonymous. Where there is no room, strangers end first: of the address that has
most of them, the oldest. So a new connection always gets in, and a flood of idle ones only pushes
itself out. Users other than administrators do not get all the room: an administrator gets in
however many watches the others have open.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, Protocol, runtime_checkable

from kapy._aio.descriptors import raise_descriptor_limit
from kapy.apiserver.authorization import SUPERUSERS
from kapy.kube.http import ANONYMOUS, User

_log = logging.getLogger(__name__)

MOST: Final = 10_000
"""Connections that may be open, however many descriptors there are: each takes memory."""
STRANGERS: Final = 1024
"""Connections that may be open of clients that have not shown who they are."""
TELL_SECONDS: Final = 60.0
"""How often it is logged that connections were ended."""


@runtime_checkable
class Occupied(Protocol):
    """A protocol that knows what its connection does."""

    @property
    def was_asked(self) -> bool:
        """Whether a whole request ever came."""

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""


class Visit:
    """One connection, from its beginning on. source: the client's address, without its port."""

    __slots__ = ("_limit", "protocol", "source", "task", "transport", "user")

    def __init__(self, limit: ConnectionLimit, source: str) -> None:
        self._limit = limit
        self.source = source
        self.user: User | None = None
        self.task: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.protocol: Any = None

    def introduce(self, user: User) -> bool:
        """Tell who the client is; False where there is no room for this user."""
        if user is self.user or user is ANONYMOUS or user.name == ANONYMOUS.name:
            return True
        return self._limit.know(self, user)

    def leave(self) -> None:
        """The connection is closed."""
        self._limit.leave(self)

    def end(self) -> None:
        """Close the connection at once."""
        self.leave()
        if self.transport is not None:
            self.transport.abort()
        elif self.task is not None:
            self.task.cancel()

    @property
    def was_asked(self) -> bool:
        """Whether a whole request ever came."""
        return isinstance(self.protocol, Occupied) and self.protocol.was_asked

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""
        return isinstance(self.protocol, Occupied) and self.protocol.is_busy


class ConnectionLimit:
    """The connections of a process, or of some of its listeners. most: how many may be open."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._strangers = min(STRANGERS, most // 2)
        self._others = most - max(most // 8, 2)
        self._unknown: dict[str, dict[Visit, None]] = {}
        self._known: dict[Visit, User] = {}
        self._users: Counter[str] = Counter()
        self._count = 0
        self._ended = 0
        self._told = float("-inf")

    @property
    def open(self) -> int:
        """How many connections are open."""
        return self._count + len(self._known)

    def enter(self, source: str) -> Visit | None:
        """Count a new connection, after room was made for it; None where there is none."""
        if self._count >= self._strangers and not self._end_one(self._idle_strangers()):
            self._end_one(self._busy_strangers())
        if self.open >= self.most and not self.make_room():
            return None
        visit = Visit(self, source)
        self._unknown.setdefault(source, {})[visit] = None
        self._count += 1
        return visit

    def make_room(self) -> bool:
        """End the connection that is missed least; False where all are in use."""
        return (
            self._end_one(self._idle_strangers())
            or self._end_one(self._idle_users())
            or self._end_one(self._busy_strangers())
        )

    def know(self, visit: Visit, user: User) -> bool:
        """A stranger has shown who it is; False where users have all the room that they get."""
        admin = SUPERUSERS in user.groups
        known = self._known.get(visit)
        if known is not None and known.name == user.name:
            return True
        if not admin and (
            self._users.total() >= self._others or self._users[user.name] >= self._others // 2
        ):
            return False
        self.leave(visit)
        visit.user = self._known[visit] = user
        if not admin:
            self._users[user.name] += 1
        return True

    def leave(self, visit: Visit) -> None:
        """Count a connection no more."""
        user = self._known.pop(visit, None)
        if user is not None:
            if SUPERUSERS not in user.groups:
                self._users[user.name] -= 1
                if not self._users[user.name]:
                    del self._users[user.name]
            return
        same = self._unknown.get(visit.source, {})
        if visit in same:
            del same[visit]
            self._count -= 1
            if not same:
                del self._unknown[visit.source]

    def _end_one(self, visits: Iterable[Visit]) -> bool:
        visit = next(iter(visits), None)
        if visit is None:
            return False
        self._ended += 1
        visit.end()
        now = asyncio.get_running_loop().time()
        if now - self._told >= TELL_SECONDS:
            _log.warning(
                "%d connections were ended to make room for others (%d are open, %d may be), "
                "most of them idle and from %s",
                self._ended,
                self.open,
                self.most,
                visit.source,
            )
            self._told, self._ended = now, 0
        return True

    def _sources(self) -> list[dict[Visit, None]]:
        """The strangers of each address, of who has most of them first."""
        return sorted(self._unknown.values(), key=len, reverse=True)

    def _idle_strangers(self) -> Iterable[Visit]:
        for visits in self._sources():
            yield from (one for one in visits if not one.was_asked)
            yield from (one for one in visits if not one.is_busy)

    def _busy_strangers(self) -> Iterable[Visit]:
        for visits in self._sources():
            yield from visits

    def _idle_users(self) -> Iterable[Visit]:
        admins = [SUPERUSERS in user.groups for user in self._known.values()]
        for wanted in (False, True):
            for visit, admin in zip(self._known, admins, strict=True):
                if admin is wanted and not visit.is_busy:
                    yield visit


@cache
def process_limit() -> ConnectionLimit:
    """The limit that all listeners of this process share, made when the first one needs it.

    It raises the process' soft limit of open descriptors to the hard one.
    """
    descriptors = raise_descriptor_limit()
    reserve = min(max(descriptors // 4, 64), 1024)
    return ConnectionLimit(min(max(descriptors - reserve, descriptors // 4, 8), MOST))
