"""Reading what somebody else sends, up to a bound."""

from __future__ import annotations

from collections.abc import AsyncIterator


class TooLong(ValueError):
    """More came than may."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the answer is longer than {most} bytes")


async def gathered(chunks: AsyncIterator[bytes], most: int) -> bytes:
    """All chunks together. Raises TooLong, as soon as there are more than `most` bytes."""
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise TooLong(most)
        parts.append(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)
