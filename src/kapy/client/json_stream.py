"""Splits a stream of JSON documents, wherever their lines end.

Kubernetes sends one event per line. Its clients accept any JSON, and some servers rely on that:
upstream's in-memory API server indents events and puts nothing between them.
"""

from __future__ import annotations

import re
from typing import Final

from kapy.kube import Document
from kapy.kube.foreign_json import decode_json

_MARK: Final = re.compile(rb'["{}\[\]]')
_END_OF_TEXT: Final = re.compile(rb'\\.|"', re.DOTALL)
_SPACE: Final = b" \t\r\n"


class JsonStream:
    """Feed chunks, take documents. Every byte is scanned once, regardless of the chunks.

    max_bytes: maximum bytes of a document.
    """

    __slots__ = ("_at", "_bytes", "_in_text", "_level", "_most")

    def __init__(self, begun: bytes, max_bytes: int) -> None:
        self._bytes = bytearray()
        self._most = max_bytes
        self._begin()
        self.feed(begun)

    @property
    def has_rest(self) -> bool:
        """Whether an incomplete document is buffered."""
        return bool(self._bytes)

    def feed(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        self._bytes += chunk
        self._strip()

    def next(self) -> Document | None:
        """Return the next complete document, None if more input is needed. Raises ValueError for
        invalid JSON.
        """
        if not self._bytes:
            return None
        if self._bytes[0] != ord("{"):
            raise ValueError("it is not an object")
        if not self._is_complete():
            if len(self._bytes) > self._most:
                raise ValueError(f"it is longer than {self._most} bytes")
            return None
        text = bytes(self._bytes[: self._at])
        del self._bytes[: self._at]
        self._begin()
        self._strip()
        result: Document = decode_json(text)
        return result

    def _begin(self) -> None:
        self._at = self._level = 0
        self._in_text = False

    def _strip(self) -> None:
        if not self._at:
            spaces = len(self._bytes) - len(self._bytes.lstrip(_SPACE))
            del self._bytes[:spaces]

    def _is_complete(self) -> bool:
        """Scan to the end of the current document; whether it was reached."""
        while True:
            wanted = _END_OF_TEXT if self._in_text else _MARK
            result = wanted.search(self._bytes, self._at)
            if result is None:
                new = self._at < len(self._bytes)
                self._at = len(self._bytes)
                if new and self._in_text and self._bytes.endswith(b"\\"):
                    self._at -= 1  # the next chunk has the escaped character
                return False
            self._at = result.end()
            mark = result[0]
            if mark == b'"':
                self._in_text = not self._in_text
            elif mark in (b"{", b"["):
                self._level += 1
            elif mark in (b"}", b"]"):
                self._level -= 1
                if not self._level:
                    return True
