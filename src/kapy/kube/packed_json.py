"""Documents as compressed JSON, for objects that nobody reads for a while.

Objects of one kind resemble each other: the first one of a kind is the dictionary with which zlib
compresses all others of this process, to a sixth of their JSON on average. An object that it does
not fit becomes the next dictionary, a few times. Those of Secrets have no data and annotations, in
which kubectl repeats the data, so that no secret outlives its object.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b
from typing import Any, Final

import msgspec

from kapy.kube import Document

LARGEST: Final = 64 * 1024
"""The most bytes of JSON that are packed: to pack and to unpack must not hold up other work."""
SMALLEST: Final = 256
_MOST: Final = 256
"""The most dictionaries: custom kinds may come and go without an end."""
_POOR: Final = 4
_TRIES: Final = 4
"""A kind has so many dictionaries at most; another one is tried for an object that is packed to
more than a quarter of its JSON.
"""
_WINDOW: Final = 14
"""zlib finds repetitions over 2**14 bytes; a dictionary is no longer than that."""
_MEMORY: Final = 6
_LEVEL: Final = 6
_MARK: Final = b"\0"
_RECENT: Final = 50_000

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_numbers: dict[str, list[int]] = {}
_dictionaries: list[bytes] = []


class Packer:
    """Compresses the JSON of documents. Equal documents that are packed one after the other share
    one result.
    """

    __slots__ = ("_recent",)

    def __init__(self) -> None:
        self._recent: dict[bytes, bytes] = {}

    def pack(self, encoded: bytes) -> bytes:
        """Return the JSON of a document in its packed form.

        It is returned unchanged if it is too large, too small, or packed already.
        """
        if not SMALLEST <= len(encoded) <= LARGEST or encoded[:1] == _MARK:
            return encoded
        digest = blake2b(encoded, digest_size=16).digest()
        packed = self._recent.get(digest)
        if packed is None:
            if len(self._recent) >= _RECENT:
                self._recent.clear()
            packed = self._recent[digest] = _compress(encoded)
        return packed

    def clear(self) -> None:
        """Forget the recently packed documents."""
        self._recent.clear()


def unpack(packed: bytes) -> bytes:
    """Return the JSON of a packed document; JSON that is not packed is returned unchanged."""
    if packed[:1] != _MARK:
        return packed
    dictionary = _dictionaries[int.from_bytes(packed[1:3], "little")]
    return zlib.decompressobj(-_WINDOW, dictionary).decompress(packed[3:])


class _Head(msgspec.Struct):
    kind: str = ""


_head = msgspec.json.Decoder(_Head).decode


def _compress(encoded: bytes) -> bytes:
    kind = _head(encoded).kind
    numbers = _numbers.setdefault(kind, [])
    if not numbers:
        _add_dictionary(kind, numbers, encoded)
    packed = _deflate(numbers[-1], encoded)
    if len(packed) * _POOR > len(encoded) and len(numbers) < _TRIES:
        _add_dictionary(kind, numbers, encoded)
        packed = _deflate(numbers[-1], encoded)
    return packed


def _deflate(number: int, encoded: bytes) -> bytes:
    stream = zlib.compressobj(
        _LEVEL, zlib.DEFLATED, -_WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _dictionaries[number]
    )
    return b"".join((_MARK, number.to_bytes(2, "little"), stream.compress(encoded), stream.flush()))


def _add_dictionary(kind: str, numbers: list[int], encoded: bytes) -> None:
    if len(_dictionaries) >= _MOST:
        numbers.append(0)  # any dictionary will do
        return
    if kind == "Secret":
        document: Any = _decode(encoded)
        data = dict.fromkeys(document.get("data") or (), "")
        metadata = {**(document.get("metadata") or {}), "annotations": {}}
        encoded = _encode({**document, "metadata": metadata, "data": data, "stringData": {}})
    numbers.append(len(_dictionaries))
    _dictionaries.append(encoded[: 2**_WINDOW])


def pack_document(document: Document, packer: Packer) -> bytes | None:
    """Return a document in its packed form, None if it is no JSON document."""
    try:
        encoded = _encode(document)
        return packer.pack(encoded)
    except (TypeError, ValueError, msgspec.MsgspecError):
        return None


def unpack_document(packed: bytes) -> Document:
    """Return the document of a packed form."""
    document: Document = _decode(unpack(packed))
    return document
