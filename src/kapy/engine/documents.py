"""The documents of an informer, packed while nobody reads them.

A document takes about five times the memory of its JSON, and thirty times that of its packed form
(`kapy.kube.packed_json`). A program that runs for long packs the documents that came a while ago
(`kapy.engine.idle_packing`); a read unpacks one, for the same while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import cast

from kapy.kube import Document, Key
from kapy.kube.idle_keys import IdleKeys
from kapy.kube.packed_json import LARGEST, Packer, pack_document, unpack_document


class Documents(MutableMapping[Key, Document]):
    """A map of documents by key, which packs those that are not read. on_packed: called with the
    key of each document that is packed, so that other holders of the document drop it.
    """

    __slots__ = ("_decoded", "_idle", "_packed", "on_packed")

    def __init__(self) -> None:
        self._decoded: dict[Key, Document] = {}
        self._packed: dict[Key, bytes] = {}
        self._idle = IdleKeys[Key]()
        self.on_packed: list[Callable[[Key], None]] = []

    def get(self, key: Key) -> Document | None:  # type: ignore[override]
        """Return a document, None if there is none."""
        document = self._decoded.get(key)
        if document is None and self._packed:
            return self._unpack(key)
        return document

    def of(self, keys: Iterable[Key]) -> list[Document]:
        """Return the documents of keys. Raises KeyError."""
        documents = list(map(self._decoded.get, keys))
        if None in documents:
            return [self[key] for key in keys]
        return cast(list[Document], documents)

    def __getitem__(self, key: Key) -> Document:
        document = self.get(key)
        if document is None:
            raise KeyError(key)
        return document

    def __setitem__(self, key: Key, document: Document) -> None:
        self._decoded[key] = document
        self._packed.pop(key, None)
        self._idle.mark(key)

    def __delitem__(self, key: Key) -> None:
        was_packed = self._packed.pop(key, None) is not None
        if self._decoded.pop(key, None) is None and not was_packed:
            raise KeyError(key)
        self._idle.forget(key)

    def __contains__(self, key: object) -> bool:
        return key in self._decoded or key in self._packed

    def __iter__(self) -> Iterator[Key]:
        return iter(
            list(self._decoded.keys() | self._packed.keys() if self._packed else self._decoded)
        )

    def __len__(self) -> int:
        if not self._packed:
            return len(self._decoded)
        return len(self._decoded.keys() | self._packed.keys())

    def _unpack(self, key: Key) -> Document | None:
        packed = self._packed.get(key)
        if packed is None:
            return None
        document = self._decoded[key] = unpack_document(packed)
        self._idle.mark(key)
        return document

    def pack_idle(self, packer: Packer) -> Iterator[None]:
        """Pack the documents that came before the last call, one at each step."""
        for key in self._idle.next_pass(lambda: self._decoded):
            self._pack(key, packer)
            yield

    def _pack(self, key: Key, packer: Packer) -> None:
        if key not in self._packed:
            packed = pack_document(self._decoded[key], packer)
            if packed is None or len(packed) > LARGEST:
                return  # it stays as it is
            self._packed[key] = packed
        del self._decoded[key]
        for callback in self.on_packed:
            callback(key)
