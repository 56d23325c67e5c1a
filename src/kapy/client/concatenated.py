"""JSON documents one after the other, wherever their lines end.

Kubernetes writes an event a line. Its clients read any JSON, and some servers count on that:
upstream's in-memory API server indents events, and puts nothing between two of them.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from json import JSONDecodeError, JSONDecoder
from typing import Final

from kapy.kube import Document

_CUT: Final = 8
"""Characters that the end of a cut document may have which are no JSON: `fals`, `\\u00e`."""


class Concatenated:
    """Feed chunks, take documents."""

    __slots__ = ("_decoder", "_text")

    def __init__(self, begun: bytes) -> None:
        self._decoder = getincrementaldecoder("utf-8")()
        self._text = ""
        self.feed(begun)

    @property
    def rest(self) -> bool:
        """Whether a document has begun that has not ended."""
        return bool(self._text)

    def feed(self, chunk: bytes) -> None:
        """Take in the next bytes. Raises ValueError."""
        self._text = (self._text + self._decoder.decode(chunk)).lstrip()

    def next(self) -> Document | None:
        """The next whole document, None until more is fed. Raises ValueError for what is none."""
        try:
            found, end = JSONDecoder().raw_decode(self._text)
        except JSONDecodeError as error:
            left = len(self._text) - error.pos
            if error.msg.startswith("Unterminated string") or left < _CUT:
                return None
            raise
        if not isinstance(found, dict):
            raise ValueError("it is not an object")
        self._text = self._text[end:].lstrip()
        return found
