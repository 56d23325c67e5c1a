"""Streaming responses, which the server writes until the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, runtime_checkable

from kapy.apiserver.serving import asgi_messages


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


class EventStream:
    """A streaming response made of any asynchronous iterator of events.

    `aclose` also ends a stream that waits for its next event.
    """

    def __init__(self, events: AsyncIterator[Any]) -> None:
        self._events = events
        self._closed = False
        self._wait: asyncio.Timeout | None = None
        self._on_end: Callable[[], None] | None = None

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each event as a line."""
        try:
            while not self._closed:
                try:
                    async with asyncio.timeout(None) as self._wait:  # `aclose` ends it
                        event = await anext(self._events)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if self._closed:
                        return
                    raise
                finally:
                    self._wait = None
                yield asgi_messages.encode_event(event)
        finally:
            if (close := getattr(self._events, "aclose", None)) is not None:
                await close()

    def when_closed(self, callback: Callable[[], None] | None) -> None:
        """Set a callback for when the server ends the stream."""
        self._on_end = callback

    async def aclose(self) -> None:
        """End the stream, even while it waits for its next event."""
        if self._closed:
            return
        self._closed = True
        if self._wait is not None:
            self._wait.reschedule(asyncio.get_running_loop().time())
        if self._on_end is not None:
            self._on_end()
