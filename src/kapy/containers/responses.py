"""Read the responses of an engine with a size limit, and as lines that let other tasks run in
between.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from aiodocker import Docker
from aiohttp import ClientResponse, ClientSession, ClientTimeout

from kapy._aio.cooperation import Cooperation
from kapy.containers.errors import AnswerTooLarge

MAX_TEXT_BYTES: Final = 4 << 20
"""The maximum bytes of a response that is parsed on the event loop. A container takes about 3 KB in
a list."""
_CHUNK_BYTES: Final = 64 << 10


Item = TypeVar("Item")
LINES_PER_TURN: Final = 200
"""The number of lines that are processed before other tasks run: a few milliseconds."""


class BoundedResponse(ClientResponse):
    """An HTTP response of the engine whose body is limited in size when it is read as a whole."""

    async def read(self) -> bytes:
        """Return the whole body. Raises AnswerTooLarge if it exceeds the limit."""
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
    """The client of the engine library, changed so that an error closes the connection of its
    response.
    """

    @asynccontextmanager
    async def _query(self, *positional: Any, **named: Any) -> AsyncIterator[ClientResponse]:
        async with super()._query(*positional, **named) as response:
            try:
                yield response
            except BaseException:
                response.close()
                raise


def open_library(address: str | None, timeout: ClientTimeout) -> Docker:
    """Open a client of the engine library. address: the address of the engine, None for the engine
    of the current Docker context.
    """
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
