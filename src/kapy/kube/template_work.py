"""How much work the rendering of a template is, and how much it may be.

Work is counted in steps, not in time, so that a template is refused everywhere or nowhere. A step
is about what an instruction of a template costs, a few microseconds: each instruction that is run,
each call of a function, and each 16 characters or single items that a function reads or makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from kapy.kube.errors import KapyError

QUICK: Final = 10_000
"""Steps that may be done on the event loop."""

FULL: Final = 300_000
"""Steps that a template may do at all."""

LARGEST: Final = 1 << 20
"""Characters, and items, that a value or a text may have."""

_CHARACTERS: Final = 16


class TooLong(KapyError, ValueError):
    """The template does more than it may."""


class Work:
    """The steps that are left for one rendering. world: which of two sets of made-up random values
    and times functions take (see `sprig_volatile`). spent: steps so far."""

    __slots__ = ("most", "spent", "world")

    def __init__(self, most: int, world: int = 0) -> None:
        self.most = most
        self.spent = 0
        self.world = world

    def charge(self, steps: int) -> None:
        """Count work. Raises TooLong."""
        self.spent += steps
        if self.spent > self.most:
            raise TooLong(f"it takes too long (more than {self.most} steps)")

    def read(self, *values: Any) -> None:
        """Count the work of going through values. Raises TooLong, also where one is too large."""
        for one in values:
            self.charge(size(one, self.most - self.spent))


_current: ContextVar[Work | None] = ContextVar("template_work", default=None)


def current() -> Work:
    """The work of the template that is being rendered; outside of one, some of its own."""
    return _current.get() or Work(FULL)


@contextmanager
def counted(work: Work) -> Iterator[Work]:
    """Functions that are called within are charged to `work`."""
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)


def size(value: Any, most: int = LARGEST) -> int:
    """Items and parts of texts in a value, all that it contains included, or a little more than
    `most`, where counting ends. Raises TooLong where it is more than any value may have; one that
    contains itself always has."""
    kind = type(value)
    if kind is str or kind is bytes:
        return _length(value)
    if not isinstance(value, (list, tuple, Mapping)):
        return 1
    total, rest = 0, [value]
    while rest:
        one = rest.pop()
        if isinstance(one, (str, bytes)):
            total += _length(one)
        else:
            total += 1
            if isinstance(one, Mapping):
                total += len(one)
                rest.extend(one.values())
            elif isinstance(one, (list, tuple)):
                rest.extend(one)
        if total > LARGEST or len(rest) > LARGEST:
            raise TooLong(f"a value is too large (more than {LARGEST} items)")
        if total > most:
            break
    return total


def _length(text: str | bytes) -> int:
    if len(text) > LARGEST:
        raise TooLong(f"a text is too long (more than {LARGEST} characters)")
    return 1 + len(text) // _CHARACTERS
