"""The limit of concurrent requests; further requests receive 429 and should retry.

This is kube-apiserver's rule without priority and fairness. Reads and writes have separate limits,
watches have none, and members of `system:masters` are never refused. In-process requests come from
controllers and are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kapy.apiserver.auth.authorization import SUPERUSERS
from kapy.apiserver.request.request_info import PROBES, request_info
from kapy.kube.errors import TooManyRequests
from kapy.kube.http import Request, User

RETRY_AFTER: Final = 1
_PROBE_PATHS: Final = tuple(f"/{page}" for page in PROBES)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most concurrent requests; 0 means no limit."""

    reading: int = 400
    mutating: int = 200


class InFlightRequests:
    """The concurrent requests of one type (reading or mutating), and their limit."""

    __slots__ = ("_peak", "limit", "now")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.now = 0
        self._peak = 0

    def enter(self, user: User) -> bool:
        """Count a request; return whether `leave` must be called when it ends. Raises
        TooManyRequests.
        """
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
        """Uncount a finished request."""
        self.now -= 1

    def peak(self) -> int:
        """Return the highest number since the last call."""
        result, self._peak = self._peak, self.now
        return result


class MaxInFlight:
    """The limits of concurrent network requests of one server, with the current numbers."""

    __slots__ = ("mutating", "reading")

    def __init__(self, limits: Limits) -> None:
        self.reading = InFlightRequests(limits.reading)
        self.mutating = InFlightRequests(limits.mutating)

    def enter(self, request: Request, user: User) -> InFlightRequests | None:
        """Count a request; return the InFlightRequests that it belongs to, None if it has no limit.

        Raises TooManyRequests.
        """
        if is_long_running(request) or is_probe(request):
            return None
        room = self.reading if request.method in ("GET", "HEAD") else self.mutating
        return room if room.enter(user) else None


def is_long_running(request: Request) -> bool:
    """Report whether the response is a long-running stream: a watch."""
    if request.method != "GET" or not request.path.startswith("/api"):
        return False
    if "watch" not in request.query and "/watch" not in request.path:
        return False
    return request_info(request).verb == "watch"


def is_probe(request: Request) -> bool:
    """Report whether a request is a health probe, which is never refused."""
    return request.path.startswith(_PROBE_PATHS) and request.path[1:].partition("/")[0] in PROBES
