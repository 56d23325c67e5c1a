"""Limits for the time of pattern matching.

RE2 takes time linear in the text times the pattern, and users supply both. So each search is
limited in advance (`MAX_STEPS`), and all searches for one object share a time budget.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from time import thread_time_ns
from typing import Final

from kapy.kube.errors import KapyError

MAX_STEPS: Final = 30_000_000
"""Instructions of the program times bytes of the text, for one search."""

EXPENSIVE_STEPS: Final = 100_000
"""From so many steps on, a search is charged what it took."""

MAX_NANOSECONDS: Final = 200_000_000
"""Nanoseconds that the patterns and rules of one object may take together."""

STEP: Final = 5
"""Nanoseconds that one step takes at most."""

CHARACTER: Final = 1000
"""Nanoseconds that it takes at most to read one character of a pattern."""

INSTRUCTION: Final = 1000
"""Nanoseconds that it takes at most to compile one instruction."""

clock = thread_time_ns


class TooCostly(KapyError, ValueError):
    """Matching would exceed, or has exceeded, its limit."""


class TimeBudget:
    """The remaining time for one object. As a context manager: all searches in the block share it,
    unless an outer budget already applies.
    """

    __slots__ = ("_token", "remaining")

    def __init__(self, nanoseconds: int = MAX_NANOSECONDS) -> None:
        self.remaining = nanoseconds
        self._token: Token[TimeBudget | None] | None = None

    def __enter__(self) -> None:
        if _current.get() is None:
            self._token = _current.set(self)

    def __exit__(self, *error: object) -> None:
        if self._token is not None:
            _current.reset(self._token)

    def charge(self, nanoseconds: int) -> None:
        """Subtract time from the budget. Raises TooCostly if none is left."""
        self.remaining -= nanoseconds
        if self.remaining < 0:
            raise TooCostly(
                "its patterns take too long on these values: make the patterns simpler "
                "(fewer and smaller repetitions) or the values shorter"
            )


_current: ContextVar[TimeBudget | None] = ContextVar("allowance", default=None)


def current() -> TimeBudget:
    """Return the budget of the current object; without one, a new budget for a single search."""
    return _current.get() or TimeBudget()


def charge_current(steps: int) -> None:
    """Charge one short search to the current object's budget, if there is one."""
    account = _current.get()
    if account is not None:
        account.remaining -= STEP * steps
        if account.remaining < 0:
            account.charge(0)


allowance: Final = TimeBudget
"""A context whose searches share one allowance. Every validation enters one."""
