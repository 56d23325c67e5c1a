"""One object at one revision, as a document, as its JSON, or as both.

A document takes about five times the memory of its JSON. Objects on disk are therefore decoded at
the first read, and objects that only the history needs are kept as JSON. The JSON of objects that
nobody reads for a while is packed (`Store.pack_idle`).
"""

from __future__ import annotations

from sys import intern
from typing import Any, Final

import msgspec

from kapy.kube import Document
from kapy.kube.packed_json import Packer, pack_document, unpack

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_SHORT: Final = 48
"""The most characters of a string that is likely to occur in other objects as well."""
_DEEP: Final = 12
"""The depth to which an object is searched for such strings."""
_POOL: Final = 4 * 2**20
"""The limit in bytes of JSON for the pool of shared field sets; a full pool is emptied."""


class StoredObject:
    """One object in the store, at one revision.

    document: the decoded object, None before the first read. encoded: the JSON of the object, b""
    if it is not kept. checksum: the checksum of its row on disk, 0 if it has none. is_final:
    whether readers get exactly this JSON, since the current definition of its kind adds no default
    to it.
    """

    __slots__ = ("_kept", "checksum", "document", "is_final")

    def __init__(self, document: Document | None, encoded: bytes = b"", proof: int = 0) -> None:
        self.document = document
        self._kept = encoded
        self.checksum = proof
        self.is_final = False

    @property
    def encoded(self) -> bytes:
        """Return the JSON, b"" if it is not kept."""
        return unpack(self._kept)

    @encoded.setter
    def encoded(self, encoded: bytes) -> None:
        self._kept = encoded

    @property
    def keeps_json(self) -> bool:
        """Whether the JSON is kept."""
        return bool(self._kept)

    def decode(self) -> Document:
        """Return the document, decoded once and then cached."""
        document = self.document
        if document is None:
            document = self.document = decode_compactly(self.encoded)
        return document

    def drop_document(self) -> None:
        """Drop the document of an object that is rarely read, if the JSON is kept."""
        if self._kept:
            self.document = None

    def pack(self, packer: Packer) -> None:
        """Keep the packed JSON only."""
        packed = pack_document(self.decode(), packer) if not self._kept else packer.pack(self._kept)
        if packed:
            self._kept, self.document = packed, None


def decode_compactly(encoded: bytes) -> Document:
    """Decode a document compactly: values common to many objects are shared. Raises
    MsgspecError.
    """
    document: Document = _decode(encoded)
    for entry in (document.get("metadata") or {}).get("managedFields") or ():
        if entry.get("fieldsV1"):
            entry["fieldsV1"] = intern_fields(entry["fieldsV1"])
    _share_strings(document, _DEEP)
    return document


def _share_strings(document: Any, deep: int) -> None:
    for key, value in document.items():
        kind = type(value)
        if kind is str:
            if len(value) <= _SHORT:
                document[key] = intern(value)
        elif kind is dict and key != "fieldsV1":
            if deep:
                _share_strings(value, deep - 1)
        elif kind is list and deep:
            for item in value:
                if type(item) is dict:
                    _share_strings(item, deep - 1)


def share_field_sets(document: Document, previous: Document | None) -> None:
    """Share the field sets in managedFields with other objects. The caller owns the metadata.

    Objects written by the same controllers own the same fields, and these take half of an object's
    memory.
    """
    entries = document["metadata"].get("managedFields")
    if not entries:
        return
    before = previous["metadata"].get("managedFields") if previous is not None else None
    if entries is before:
        return
    ids = {id(item.get("fieldsV1")) for item in before or ()}
    document["metadata"]["managedFields"] = [
        entry
        if id(fields := entry.get("fieldsV1")) in ids or not fields
        else _share_entry(entry, fields)
        for entry in entries
    ]


def _share_entry(entry: Document, fields: Document) -> Document:
    shared = intern_fields(fields)
    if shared is fields:
        return entry
    return {**entry, "fieldsV1": shared}


_pool: dict[bytes, Document] = {}
_pooled = 0


def intern_fields(fields: Document) -> Document:
    """Return the pooled field set that is equal to this one."""
    global _pooled  # one pool per process: all stores hold the same kinds of objects
    key = _encode(fields)
    result = _pool.get(key)
    if result is not None:
        return result
    _pooled += len(key)
    if _pooled > _POOL:
        _pool.clear()
        _pooled = len(key)
    _pool[key] = fields
    return fields
