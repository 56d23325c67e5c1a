"""Reads data from untrusted sources with a size limit."""

from __future__ import annotations

from collections.abc import AsyncIterator


class TooLarge(ValueError):
    """The data exceed the limit."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"the answer is longer than {max_bytes} bytes")


async def read_limited(chunks: AsyncIterator[bytes], max_bytes: int) -> bytes:
    """Join chunks up to the limit. Raises TooLarge."""
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > max_bytes:
            raise TooLarge(max_bytes)
        parts.append(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)
