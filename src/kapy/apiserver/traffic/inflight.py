"""How many requests may be under way at once: the rest is refused, and asked to come again.

kube-apiserver's rule without priority and fairness: reads and writes are counted apart, watches
not at all, and members of `system:masters` are answered even when there is no room. Requests in
process are the controllers' (of `system:masters`): they are neither counted nor refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kapy.apiserver.authorization import SUPERUSERS
from kapy.apiserver.health import PAGES
from kapy.apiserver.request_info import request_info
from kapy.kube.errors import TooManyRequests
from kapy.kube.http import Request, User

RETRY_AFTER: Final = 1
_PAGES: Final = tuple(f"/{page}" for page in PAGES)


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests that may be under way at once; 0: no bound."""

    reading: int = 400
    mutating: int = 200


class Room:
    """Requests of one kind."""

    __slots__ = ("_peak", "limit", "now")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.now = 0
        self._peak = 0

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
        if self.now > self._peak:
            self._peak = self.now
        return True

    def leave(self) -> None:
        """A request that took room is answered."""
        self.now -= 1

    def peak(self) -> int:
        """The highest number since somebody asked last."""
        found, self._peak = self._peak, self.now
        return found


class InFlight:
    """The requests over the network that one server is answering."""

    __slots__ = ("mutating", "reading")

    def __init__(self, limits: Limits) -> None:
        self.reading = Room(limits.reading)
        self.mutating = Room(limits.mutating)

    def enter(self, request: Request, user: User) -> Room | None:
        """The room that a request takes, None when it needs none. Raises TooManyRequests."""
        if is_long_running(request) or is_probe(request):
            return None
        room = self.reading if request.method in ("GET", "HEAD") else self.mutating
        return room if room.enter(user) else None


def is_long_running(request: Request) -> bool:
    """Whether the answer is a stream that goes on: a watch."""
    if request.method != "GET" or not request.path.startswith("/api"):
        return False
    if "watch" not in request.query and "/watch" not in request.path:
        return False
    return request_info(request).verb == "watch"


def is_probe(request: Request) -> bool:
    """Whether somebody asks how the server is: that is answered whatever happens."""
    return request.path.startswith(_PAGES) and request.path[1:].partition("/")[0] in PAGES
