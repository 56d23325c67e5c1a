"""Streaming responses, which the server writes until the client disconnects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class StreamingResponse(Protocol):
    """A stream that either side may end, such as a watch."""

    def lines(self) -> AsyncIterator[bytes]:
        """Yield the data to send, one line for each item."""

    def when_closed(self, callback: Callable[[], None] | None) -> None:
        """Set a callback for when the server ends the stream, even if the client no longer
        reads.
        """

    async def aclose(self) -> None:
        """End the stream."""
