"""Splits a stream of bytes into lines of any length."""

from __future__ import annotations

from collections import deque


class Lines:
    """Feed chunks, take lines. A long line in many chunks is searched only once.

    max_bytes: maximum bytes of a line.
    """

    __slots__ = ("_lines", "_most", "_rest", "_size")

    def __init__(self, max_bytes: int) -> None:
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []
        self._most = max_bytes
        self._size = 0

    @property
    def has_rest(self) -> bool:
        """Whether an incomplete line is buffered."""
        return bool(self._rest)

    def feed(self, chunk: bytes) -> None:
        """Take in the next bytes. Raises ValueError when a line is too long."""
        *whole, last = chunk.split(b"\n")
        for part in whole:
            line = b"".join((*self._rest, part)) if self._rest else part
            self._rest.clear()
            self._size = 0
            if line:
                self._lines.append(line)
        if last:
            self._rest.append(last)
            self._size += len(last)
            if self._size > self._most:
                raise ValueError(f"a line is longer than {self._most} bytes")

    def next(self) -> bytes | None:
        """Return the next complete, non-empty line, None if more input is needed."""
        return self._lines.popleft() if self._lines else None

    def drain(self) -> bytes:
        """Return all that was fed and not taken; nothing is left."""
        content = b"\n".join((*self._lines, b"".join(self._rest)))
        self._lines.clear()
        self._rest.clear()
        self._size = 0
        return content
