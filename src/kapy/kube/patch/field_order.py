"""The order of fields in a patched object as kube-apiserver's library for patches writes it.

The library parses parts of a document lazily. It writes a parsed part with its fields sorted by
name, and other parts unchanged, as in the object or in the patch. Errors show this text, and a
decoder reports the first wrong field in this order.
"""

from __future__ import annotations

from typing import Any

from msgspec.json import Decoder, Encoder

from kapy.kube.patch.editing import CannotApply, child, index, parse_pointer

_encode = Encoder().encode
_decode = Decoder().decode


def apply_json_patch(document: Any, operations: list[Any]) -> Any:
    """Return the document after the operations, which must apply to it."""
    text = _OrderedDocument(document)
    for operation in operations:
        try:
            text.apply(operation)
        except CannotApply:
            break
    return text.encode(text.root)


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """Return the document after a merge patch."""
    text = _OrderedDocument(document)
    if isinstance(patch, dict):
        text.merge(text.root, _decode(_encode(patch)))
    return text.encode(text.root)


class _OrderedDocument:
    """A private copy of a document that records which of its parts the library would have read."""

    def __init__(self, document: Any) -> None:
        self._read: dict[int, Any] = {}
        self._whole: dict[int, Any] = {}
        """Parts of which everything was read, until something new is put into them."""
        self.root = self._open(_decode(_encode(document)))

    def _open(self, node: Any) -> Any:
        if isinstance(node, dict | list):
            self._read[id(node)] = node
        return node

    def _open_all(self, node: Any, *, nulls: bool = True) -> None:
        """Mark everything below a node as read. nulls: keep null members."""
        if not isinstance(node, dict | list) or id(node) in self._whole:
            return
        self._open(node)
        if isinstance(node, dict) and not nulls:
            for key in [key for key, value in node.items() if value is None]:
                del node[key]
        for item in node.values() if isinstance(node, dict) else node:
            self._open_all(item, nulls=nulls)
        self._whole[id(node)] = node

    def encode(self, node: Any) -> Any:
        """Return a node with its fields in the order in which the library writes them."""
        if id(node) not in self._read:
            return node
        if isinstance(node, dict):
            return {key: self.encode(node[key]) for key in sorted(node)}
        return [self.encode(item) for item in node]

    def merge(self, target: Any, patch: Any) -> None:
        """Apply a merge patch to a map."""
        for key, value in patch.items():
            result = target.get(key)
            if value is None:
                target.pop(key, None)
            elif result is None or not isinstance(self._open(result), dict):
                self._open_all(value, nulls=False)
                target[key] = value
            elif isinstance(value, dict):
                self.merge(result, value)
            else:
                target[key] = value

    def apply(self, operation: Any) -> None:
        """Apply one operation of a JSON patch. Raises CannotApply."""
        op, path = operation.get("op"), operation.get("path")
        if path == "" and op in ("replace", "test"):
            if op == "replace":
                self.root = self._open(_decode(_encode(operation.get("value"))))
            else:
                self._open_all(self.root)
            return
        if op == "test":
            self._open_all(self._find(path))
        elif op == "remove":
            self._remove(path)
        elif op == "move":
            value = self._find(operation.get("from"))
            self._remove(operation.get("from"))
            self._put(path, value, insert=True)
        elif op == "copy":
            value = self.encode(self._find(operation.get("from")))
            self._put(path, _decode(_encode(value)), insert=True)
        else:
            self._put(path, _decode(_encode(operation.get("value"))), insert=op == "add")

    def _holder(self, path: Any) -> tuple[Any, str]:
        tokens = parse_pointer(path) if isinstance(path, str) else []
        if not tokens:
            raise CannotApply
        node = self.root
        for token in tokens[:-1]:
            node = self._open(child(node, token))
        return node, tokens[-1]

    def _find(self, path: Any) -> Any:
        holder, token = self._holder(path)
        return holder.get(token) if isinstance(holder, dict) else child(holder, token)

    def _remove(self, path: Any) -> None:
        holder, token = self._holder(path)
        if isinstance(holder, dict):
            holder.pop(token, None)
        else:
            del holder[index(token, len(holder))]

    def _put(self, path: Any, value: Any, *, insert: bool) -> None:
        holder, token = self._holder(path)
        self._whole.clear()
        if isinstance(holder, dict):
            holder[token] = value
        elif not insert:
            holder[index(token, len(holder))] = value
        elif token == "-":
            holder.append(value)
        else:
            holder.insert(index(token, len(holder) + 1), value)
