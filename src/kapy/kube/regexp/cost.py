"""How much time patterns may take.

RE2 is linear, but linear in the text times the pattern, and both come from users. So one search is
bounded in advance (`MOST_STEPS`), and all searches on behalf of one object together share an
allowance of processor time. Short searches, which are nearly all, are charged what they cost at
most; long ones are charged what they took.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from time import thread_time_ns
from typing import Final

from kapy.kube.errors import KapyError

MOST_STEPS: Final = 30_000_000
"""Instructions of the program times bytes of the text, for one search."""

LONG: Final = 100_000
"""From so many steps on, a search is charged what it took."""

ALLOWED: Final = 200_000_000
"""Nanoseconds that the patterns and rules of one object may take together."""

STEP: Final = 5
"""Nanoseconds that one step takes at most."""

CHARACTER: Final = 1000
"""Nanoseconds that it takes at most to read one character of a pattern."""

INSTRUCTION: Final = 1000
"""Nanoseconds that it takes at most to compile one instruction."""

clock = thread_time_ns


class TooCostly(KapyError, ValueError):
    """Matching would take, or has taken, longer than it may."""


class Allowance:
    """What is left for one object. As a context: all searches within share it, unless an outer one
    counts them already."""

    __slots__ = ("_token", "left")

    def __init__(self, left: int = ALLOWED) -> None:
        self.left = left
        self._token: Token[Allowance | None] | None = None

    def __enter__(self) -> None:
        if _current.get() is None:
            self._token = _current.set(self)

    def __exit__(self, *error: object) -> None:
        if self._token is not None:
            _current.reset(self._token)

    def charge(self, nanoseconds: int) -> None:
        """Take something away. Raises TooCostly when that was too much."""
        self.left -= nanoseconds
        if self.left < 0:
            raise TooCostly(
                "its patterns take too long on these values: make the patterns simpler "
                "(fewer and smaller repetitions) or the values shorter"
            )


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


def current() -> Allowance:
    """The allowance of the object in hand; without one, a fresh one for a single search."""
    return _current.get() or Allowance()


def charge_here(steps: int) -> None:
    """Charge one short search to the object in hand, if there is one."""
    account = _current.get()
    if account is not None:
        account.left -= STEP * steps
        if account.left < 0:
            account.charge(0)


allowance: Final = Allowance
"""A context whose searches share one allowance. Every validation enters one."""
