"""The limit of open connections, and the choice of one to close when it is reached.

A connection is unauthenticated while it is in the TLS handshake, has sent nothing, or is anonymous.
At the limit, unauthenticated connections are closed first: the oldest one of the address that has
most of them. So a flood of idle connections displaces only itself. Users other than administrators
may not use all connections, so that an administrator can always connect.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, Protocol, runtime_checkable

from kapy._aio.descriptors import raise_descriptor_limit
from kapy.apiserver.auth.authorization import SUPERUSERS
from kapy.kube.http import ANONYMOUS, User

_log = logging.getLogger(__name__)

MOST: Final = 10_000
"""The most open connections, however many file descriptors exist, because each takes memory."""
STRANGERS: Final = 1024
"""The most open unauthenticated connections."""
TELL_SECONDS: Final = 60.0
"""The minimum interval of log messages about closed connections."""


@runtime_checkable
class ConnectionState(Protocol):
    """A protocol that knows the state of its connection."""

    @property
    def has_received_request(self) -> bool:
        """Report whether a complete request has ever arrived."""

    @property
    def is_busy(self) -> bool:
        """Report whether a request is in progress."""


class Connection:
    """One connection from its accept to its end. source: the client's address without port."""

    __slots__ = ("_limit", "protocol", "source", "task", "transport", "user")

    def __init__(self, limit: ConnectionLimit, source: str) -> None:
        self._limit = limit
        self.source = source
        self.user: User | None = None
        self.task: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.protocol: Any = None

    def set_user(self, user: User) -> bool:
        """Record the authenticated user; return False if the limit for users is reached."""
        if user is self.user or user is ANONYMOUS or user.name == ANONYMOUS.name:
            return True
        return self._limit.set_user(self, user)

    def on_closed(self) -> None:
        """Record that the connection is closed."""
        self._limit.remove(self)

    def close(self) -> None:
        """Close the connection at once."""
        self.on_closed()
        if self.transport is not None:
            self.transport.abort()
        elif self.task is not None:
            self.task.cancel()

    @property
    def has_received_request(self) -> bool:
        """Report whether a complete request has ever arrived."""
        return isinstance(self.protocol, ConnectionState) and self.protocol.has_received_request

    @property
    def is_busy(self) -> bool:
        """Report whether a request is in progress."""
        return isinstance(self.protocol, ConnectionState) and self.protocol.is_busy


class ConnectionLimit:
    """The connections of a process or of some of its listeners. limit: the most open
    connections.
    """

    def __init__(self, most: int) -> None:
        self.limit = most
        self._strangers = min(STRANGERS, most // 2)
        self._others = most - max(most // 8, 2)
        self._unknown: dict[str, dict[Connection, None]] = {}
        self._known: dict[Connection, User] = {}
        self._users: Counter[str] = Counter()
        self._count = 0
        self._ended = 0
        self._told = float("-inf")

    @property
    def open(self) -> int:
        """Return the number of open connections."""
        return self._count + len(self._known)

    def add(self, source: str) -> Connection | None:
        """Count a new connection, closing another one if needed; return None if none can be
        closed.
        """
        if self._count >= self._strangers and not self._close_one(self._idle_unauthenticated()):
            self._close_one(self._busy_unauthenticated())
        if self.open >= self.limit and not self.make_room():
            return None
        connection = Connection(self, source)
        self._unknown.setdefault(source, {})[connection] = None
        self._count += 1
        return connection

    def make_room(self) -> bool:
        """Close the least useful connection; return False if all are in use."""
        return (
            self._close_one(self._idle_unauthenticated())
            or self._close_one(self._idle_users())
            or self._close_one(self._busy_unauthenticated())
        )

    def set_user(self, connection: Connection, user: User) -> bool:
        """Record the user of a connection; return False if the limit for users is reached."""
        admin = SUPERUSERS in user.groups
        former = self._known.get(connection)
        if former is not None and former.name == user.name:
            return True
        if not admin and (
            self._users.total() >= self._others or self._users[user.name] >= self._others // 2
        ):
            return False
        self.remove(connection)
        connection.user = self._known[connection] = user
        if not admin:
            self._users[user.name] += 1
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection from the count."""
        user = self._known.pop(connection, None)
        if user is not None:
            if SUPERUSERS not in user.groups:
                self._users[user.name] -= 1
                if not self._users[user.name]:
                    del self._users[user.name]
            return
        same = self._unknown.get(connection.source, {})
        if connection in same:
            del same[connection]
            self._count -= 1
            if not same:
                del self._unknown[connection.source]

    def _close_one(self, connections: Iterable[Connection]) -> bool:
        connection = next(iter(connections), None)
        if connection is None:
            return False
        self._ended += 1
        connection.close()
        now = asyncio.get_running_loop().time()
        if now - self._told >= TELL_SECONDS:
            _log.warning(
                "%d connections were ended to make room for others (%d are open, %d may be), "
                "most of them idle and from %s",
                self._ended,
                self.open,
                self.limit,
                connection.source,
            )
            self._told, self._ended = now, 0
        return True

    def _group_unauthenticated_by_source(self) -> list[dict[Connection, None]]:
        """Return the unauthenticated connections by address, the address with most of them
        first.
        """
        return sorted(self._unknown.values(), key=len, reverse=True)

    def _idle_unauthenticated(self) -> Iterable[Connection]:
        for connections in self._group_unauthenticated_by_source():
            yield from (
                connection for connection in connections if not connection.has_received_request
            )
            yield from (connection for connection in connections if not connection.is_busy)

    def _busy_unauthenticated(self) -> Iterable[Connection]:
        for connections in self._group_unauthenticated_by_source():
            yield from connections

    def _idle_users(self) -> Iterable[Connection]:
        admins = [SUPERUSERS in user.groups for user in self._known.values()]
        for wanted in (False, True):
            for connection, admin in zip(self._known, admins, strict=True):
                if admin is wanted and not connection.is_busy:
                    yield connection


@cache
def process_limit() -> ConnectionLimit:
    """Return the limit shared by all listeners of this process, created at the first use.

    It raises the process' soft limit of file descriptors to the hard limit.
    """
    descriptors = raise_descriptor_limit()
    reserve = min(max(descriptors // 4, 64), 1024)
    return ConnectionLimit(min(max(descriptors - reserve, descriptors // 4, 8), MOST))
