"""The work of a template rendering, and its limits.

Work is counted in steps instead of time, so that a template is refused on all machines or on none.
A step costs about as much as one instruction, a few microseconds. Each executed instruction, each
function call, and each 16 characters or items that a function reads or writes is a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from kapy.kube.errors import KapyError

QUICK: Final = 10_000
"""The most steps of a rendering on the event loop."""

FULL: Final = 300_000
"""The most steps of any rendering."""

MAX_VALUE: Final = 1 << 20
"""The most characters, and items, of a value or a text."""

_CHARACTERS: Final = 16


class TooLong(KapyError, ValueError):
    """A template exceeds the limit of its work."""


class Work:
    """The work of one rendering in steps, and its limit.

    world: the set of placeholder values for random and time functions (see `sprig_volatile`).
    spent: the steps so far.
    """

    __slots__ = ("most", "spent", "world")

    def __init__(self, limit: int, world: int = 0) -> None:
        self.most = limit
        self.spent = 0
        self.world = world

    def charge(self, steps: int) -> None:
        """Add steps to the work. Raises TooLong if the limit is exceeded."""
        self.spent += steps
        if self.spent > self.most:
            raise TooLong(f"it takes too long (more than {self.most} steps)")

    def read(self, *values: Any) -> None:
        """Charge the reading of values. Raises TooLong, also if a value is too large."""
        for item in values:
            self.charge(size(item, self.most - self.spent))


_current: ContextVar[Work | None] = ContextVar("template_work", default=None)


def current() -> Work:
    """Return the work of the template being rendered; a separate one outside of a rendering."""
    return _current.get() or Work(FULL)


@contextmanager
def charge_to(work: Work) -> Iterator[Work]:
    """Charge all functions called in this block to `work`."""
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)


def size(value: Any, limit: int = MAX_VALUE) -> int:
    """Count the items and text parts of a value, recursively, up to a little more than `limit`.

    Raises TooLong for a value over the limit; one that contains itself always is.
    """
    kind = type(value)
    if kind is str or kind is bytes:
        return _length(value)
    if not isinstance(value, (list, tuple, Mapping)):
        return 1
    total, rest = 0, [value]
    while rest:
        item = rest.pop()
        if isinstance(item, (str, bytes)):
            total += _length(item)
        else:
            total += 1
            if isinstance(item, Mapping):
                total += len(item)
                rest.extend(item.values())
            elif isinstance(item, (list, tuple)):
                rest.extend(item)
        if total > MAX_VALUE or len(rest) > MAX_VALUE:
            raise TooLong(f"a value is too large (more than {MAX_VALUE} items)")
        if total > limit:
            break
    return total


def _length(text: str | bytes) -> int:
    if len(text) > MAX_VALUE:
        raise TooLong(f"a text is too long (more than {MAX_VALUE} characters)")
    return 1 + len(text) // _CHARACTERS
