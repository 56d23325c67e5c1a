"""Responses of an engine: with a size limit, and as lines that let other tasks run in between."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from aiodocker import Docker
from aiohttp import ClientResponse, ClientSession, ClientTimeout

from kapy._aio.cooperation import Cooperation
from kapy.containers.errors import AnswerTooLarge

MAX_TEXT_BYTES: Final = 4 << 20
"""Bytes of an answer that is parsed on the event loop. A container takes about 3 KB in a list."""
_CHUNK_BYTES: Final = 64 << 10


Item = TypeVar("Item")
LINES_PER_TURN: Final = 200
"""Lines that are taken at once: a few milliseconds."""


class BoundedResponse(ClientResponse):
    """An answer whose body is read whole only up to a size."""

    async def read(self) -> bytes:
        """Return the body. Raises AnswerTooLarge."""
        if self._body is None:
            body = bytearray()
            while piece := await self.content.read(_CHUNK_BYTES):
                body += piece
                if len(body) > MAX_TEXT_BYTES:
                    self.close()
                    raise AnswerTooLarge(f"has more than {MAX_TEXT_BYTES >> 20} MiB")
            self._body = bytes(body)
        return await super().read()


class Library(Docker):
    """The library, with a connection closed whose answer was not read to its end."""

    @asynccontextmanager
    async def _query(self, *positional: Any, **named: Any) -> AsyncIterator[ClientResponse]:
        async with super()._query(*positional, **named) as response:
            try:
                yield response
            except BaseException:
                response.close()
                raise


def open_library(address: str | None, timeout: ClientTimeout) -> Docker:
    """Open the library for an engine, None for the engine of the current Docker context."""
    library = Library(address, timeout=timeout)
    library.session.detach()  # its connector is reused by the new session
    library.session = ClientSession(
        connector=library.connector, timeout=timeout, response_class=BoundedResponse
    )
    return library


async def cooperate(items: AsyncIterable[Item]) -> AsyncIterator[Item]:
    """Yield the same items, and yield to the event loop after every `LINES_PER_TURN`: reading a
    line that has already arrived never does."""
    cooperation = Cooperation(LINES_PER_TURN)
    async for item in items:
        yield item
        await cooperation.step()
