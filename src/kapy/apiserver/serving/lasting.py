"""Answers that last: what a server writes for as long as its client stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Lasting(Protocol):
    """A stream that either side may end (a watch, say)."""

    def lines(self) -> AsyncIterator[bytes]:
        """What is written, a line for each thing."""

    def when_closed(self, told: Callable[[], None] | None) -> None:
        """Tell when the server ends it, while its reader may not read any more."""

    async def aclose(self) -> None:
        """End it."""
