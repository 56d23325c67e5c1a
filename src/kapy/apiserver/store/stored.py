"""One object at one revision, as a document, as its JSON, or as both.

A document takes about five times the memory of its JSON, so what nobody reads stays JSON: what a
store finds on disk is decoded when it is first read, and what only the history remembers is
encoded only.
"""

from __future__ import annotations

from sys import intern
from typing import Any, Final

import msgspec

from kapy.kube import Document

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_SHORT: Final = 48
"""Characters of a string that other objects are likely to have, too."""
_DEEP: Final = 12
"""Levels of an object that strings are looked for in."""
_POOL: Final = 4 * 2**20
"""Bytes of JSON of the sets of fields that are shared; when there are more, sharing begins anew."""


class Stored:
    """An object. document: None while nobody has read it. encoded: b"" where nobody keeps it.
    proof: the checksum of its row on disk, 0 where it has none."""

    __slots__ = ("document", "encoded", "proof")

    def __init__(self, document: Document | None, encoded: bytes = b"", proof: int = 0) -> None:
        self.document = document
        self.encoded = encoded
        self.proof = proof

    def read(self) -> Document:
        """The document, the same one each time while it is in use."""
        document = self.document
        if document is None:
            document = self.document = decoded(self.encoded)
        return document

    def cool(self) -> None:
        """Nobody is expected to read it soon: keep only the JSON, where that is kept."""
        if self.encoded:
            self.document = None


def decoded(encoded: bytes) -> Document:
    """A document as small as it gets: what many objects have is there once. Raises MsgspecError."""
    document: Document = _decode(encoded)
    for entry in (document.get("metadata") or {}).get("managedFields") or ():
        if entry.get("fieldsV1"):
            entry["fieldsV1"] = shared_fields(entry["fieldsV1"])
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
            for one in value:
                if type(one) is dict:
                    _share_strings(one, deep - 1)


def with_shared_fields(document: Document, previous: Document | None) -> None:
    """Let a document, whose metadata is the caller's, share its sets of owned fields with others.

    Objects of a kind that the same controllers write own the same fields, and those take half of
    an object's memory.
    """
    entries = document["metadata"].get("managedFields")
    if not entries:
        return
    before = previous["metadata"].get("managedFields") if previous is not None else None
    if entries is before:
        return
    known = {id(one.get("fieldsV1")) for one in before or ()}
    document["metadata"]["managedFields"] = [
        one if id(fields := one.get("fieldsV1")) in known or not fields else _sharing(one, fields)
        for one in entries
    ]


def _sharing(entry: Document, fields: Document) -> Document:
    shared = shared_fields(fields)
    if shared is fields:
        return entry
    return {**entry, "fieldsV1": shared}


_pool: dict[bytes, Document] = {}
_pooled = 0


def shared_fields(fields: Document) -> Document:
    """The one set of fields that is equal to this one."""
    global _pooled  # one for all stores of the process: they hold the same kinds of objects
    key = _encode(fields)
    found = _pool.get(key)
    if found is not None:
        return found
    _pooled += len(key)
    if _pooled > _POOL:
        _pool.clear()
        _pooled = len(key)
    _pool[key] = fields
    return fields
