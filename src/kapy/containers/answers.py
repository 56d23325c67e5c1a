"""Answers of an engine of a size that fits into memory.

The library reads most answers whole. What is larger than any answer of an engine is refused before
it is read to its end.
"""

from __future__ import annotations

from typing import Final

from aiodocker import Docker
from aiohttp import ClientResponse, ClientSession, ClientTimeout

from kapy.containers.errors import AnswerTooLarge

LARGEST_TEXT: Final = 4 << 20
"""Bytes of an answer that is parsed on the event loop. A container takes about 3 KB in a list."""
LARGEST_ARCHIVE: Final = 32 << 20
"""Bytes of a tar archive, which is kept as it is."""
_ARCHIVE: Final = "application/x-tar"
_PIECE: Final = 64 << 10


class BoundedResponse(ClientResponse):
    """An answer whose body is read whole only up to a size."""

    async def read(self) -> bytes:
        """The body. Raises AnswerTooLarge."""
        most = LARGEST_ARCHIVE if self.content_type == _ARCHIVE else LARGEST_TEXT
        if self._body is None:
            body = bytearray()
            while piece := await self.content.read(_PIECE):
                body += piece
                if len(body) > most:
                    self.close()
                    raise AnswerTooLarge(f"has more than {most >> 20} MiB")
            self._body = bytes(body)
        return await super().read()


def opened_library(address: str | None, timeout: ClientTimeout) -> Docker:
    """The library for an engine, None for the one of the Docker context in use."""
    library = Docker(address, timeout=timeout)
    library.session.detach()  # it leaves its connector to the next one
    library.session = ClientSession(
        connector=library.connector, timeout=timeout, response_class=BoundedResponse
    )
    return library
