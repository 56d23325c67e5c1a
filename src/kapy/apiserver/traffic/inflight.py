"""How many requests may be under way at once: the rest is refused, and asked to come again.

kube-apiserver's rule without priority and fairness: reads and writes are counted apart, watches
not at all, and members of `system:masters` are answered even when there is no room. Requests in
process are the controllers' (of `system:masters`): they are neither counted nor refused.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from kapy.apiserver.authorization import SUPERUSERS
from kapy.apiserver.health import PAGES
from kapy.apiserver.parameters import flag
from kapy.kube.errors import TooManyRequests
from kapy.kube.http import Request, User

RETRY_AFTER: Final = 1
READ_ONLY, MUTATING = "readOnly", "mutating"
_SECOND: Final = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests that may be under way at once; 0: no bound."""

    reading: int = 400
    mutating: int = 200


class Room:
    """Requests of one kind. `peak` is the highest number of late, for `/metrics`."""

    __slots__ = ("_peak", "_peak_at", "limit", "now")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.now = 0
        self._peak = 0
        self._peak_at = 0.0

    def enter(self, user: User) -> bool:
        """Whether the request takes room, which `leave` gives back. Raises TooManyRequests."""
        if self.limit and self.now >= self.limit:
            if SUPERUSERS in user.groups:
                return False
            raise TooManyRequests(
                "Too many requests, please try again later.",
                details={"retryAfterSeconds": RETRY_AFTER},
                retry_after=RETRY_AFTER,
            )
        self.now += 1
        now = asyncio.get_running_loop().time()
        if self.now >= self._peak or now - self._peak_at > _SECOND:
            self._peak, self._peak_at = self.now, now
        return True

    def leave(self) -> None:
        """A request that took room is answered."""
        self.now -= 1

    def peak(self) -> int:
        """The highest number in the last second."""
        late = asyncio.get_running_loop().time() - self._peak_at <= _SECOND
        return max(self.now, self._peak) if late else self.now


class InFlight:
    """The requests over the network that one server is answering."""

    __slots__ = ("rooms",)

    def __init__(self, limits: Limits) -> None:
        self.rooms = {READ_ONLY: Room(limits.reading), MUTATING: Room(limits.mutating)}

    def enter(self, request: Request, user: User) -> Room | None:
        """The room that a request takes, None when it needs none. Raises TooManyRequests."""
        if is_long_running(request) or is_probe(request):
            return None
        reading = request.method in ("GET", "HEAD")
        room = self.rooms[READ_ONLY if reading else MUTATING]
        return room if room.enter(user) else None


def is_long_running(request: Request) -> bool:
    """Whether the answer is a stream that goes on: a watch."""
    if request.method != "GET":
        return False
    if request.query and flag(request.query, "watch"):
        return True
    _, root, *rest = (*request.path.split("/", 5), "")
    return "watch" in (rest[1:2] if root == "api" else rest[2:3])


def is_probe(request: Request) -> bool:
    """Whether somebody asks how the server is: that is answered whatever happens."""
    return request.path[1:].partition("/")[0] in PAGES
