"""A document under many changes, addressed by JSON pointers (RFC 6901).

The time of each change does not depend on the document's size. The first change of a container
copies it, later ones change the copy. A long list is kept in parts while items are inserted and
removed, so that no change moves all its items.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec.json import Decoder, Encoder

from kapy.kube.digits import parse_integer

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")

LONG_LIST: Final = 16_384
"""Items of a list that is kept in parts."""
_PART: Final = 4096
_encode = Encoder().encode
_decode = Decoder().decode


class CannotApply(Exception):
    """An operation cannot be applied at this path."""


def parse_pointer(pointer: str) -> list[str]:
    """Split a pointer into tokens; text before the first slash is ignored."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def child(node: Any, token: str) -> Any:
    """Return the value of a token in a container. Raises CannotApply."""
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list):
        return node[index(token, len(node))]
    raise CannotApply


def index(token: str, length: int) -> int:
    """Parse a list index for a list of `length` items; a negative index counts from the end."""
    if not _INDEX.fullmatch(token):
        raise CannotApply
    at = parse_integer(token)
    if not -length <= at < length:
        raise CannotApply
    return at % length


class ChunkedList:
    """A long list in parts of limited length."""

    __slots__ = ("_parts", "length")

    def __init__(self, items: list[Any]) -> None:
        self._parts = [items[at : at + _PART] for at in range(0, len(items), _PART)]
        self.length = len(items)

    def items(self) -> list[Any]:
        """Return all items as one list."""
        return [item for part in self._parts for item in part]

    def _find(self, at: int) -> tuple[int, int]:
        """Return the part of a position, and the position in the part."""
        for number, part in enumerate(self._parts):
            if at < len(part):
                return number, at
            at -= len(part)
        return len(self._parts) - 1, at + len(self._parts[-1])

    def __getitem__(self, at: int) -> Any:
        number, at = self._find(at)
        return self._parts[number][at]

    def __setitem__(self, at: int, value: Any) -> None:
        number, at = self._find(at)
        self._parts[number][at] = value

    def insert(self, at: int, value: Any) -> None:
        """Insert a value before the item at a position."""
        if not self._parts:
            self._parts.append([])
        number, at = (len(self._parts) - 1, -1) if at == self.length else self._find(at)
        part = self._parts[number]
        part.insert(len(part) if at < 0 else at, value)
        self.length += 1
        if len(part) > 2 * _PART:
            self._parts[number : number + 1] = [part[:_PART], part[_PART:]]

    def pop(self, at: int) -> None:
        """Remove and return an item."""
        number, at = self._find(at)
        part = self._parts[number]
        del part[at]
        self.length -= 1
        if not part:
            del self._parts[number]


class DocumentEditor:
    """Changes a document without changing the original; unchanged parts are shared."""

    def __init__(self, document: Any) -> None:
        self._root = [document]
        self._own: dict[int, Any] = {}
        """Containers that were copied, by their id: only this editor holds them."""
        self._long: dict[int, ChunkedList] = {}
        """Of those the long lists, by the id of the list that stands in the document."""

    @property
    def document(self) -> Any:
        """Return the current document. Values that were read earlier may change with it."""
        self._join()
        return self._root[0]

    def _join(self) -> None:
        for name, parts in self._long.items():
            self._own[name][:] = parts.items()
        self._long.clear()

    @property
    def root(self) -> Any:
        """Return the document, as an argument of `equals` and `copy_of`."""
        return self._root[0]

    def replace_root(self, value: Any) -> None:
        """Replace the whole document."""
        self._root[0] = value

    def item(self, container: Any, token: str) -> Any:
        """Return an item of a container. Raises CannotApply."""
        if isinstance(container, list) and (parts := self._long.get(id(container))) is not None:
            return parts[index(token, parts.length)]
        return child(container, token)

    def container(self, tokens: Sequence[str]) -> Any:
        """Return the container of the last token, read-only. Raises CannotApply."""
        node = self._root[0]
        for token in tokens[:-1]:
            node = self.item(node, token)
        return node

    def value_at(self, tokens: Sequence[str]) -> Any:
        """Return the value at a path, as an argument of `equals`, `copy_of` and `add`; None for a
        missing member of a map. Raises CannotApply.
        """
        container = self.container(tokens)
        if isinstance(container, dict):
            return container.get(tokens[-1])
        return self.item(container, tokens[-1])

    def copy_of(self, value: Any) -> tuple[Any, int]:
        """Return a copy of a value, and its size in bytes of JSON."""
        self._join_lists(value)
        encoded = _encode(value)
        return _decode(encoded), len(encoded)

    def _join_lists(self, value: Any) -> None:
        """Join the parts of all long lists within a value."""
        if not self._long:
            return
        todo = [value]
        while todo:
            node = todo.pop()
            if isinstance(node, list) and (parts := self._long.pop(id(node), None)) is not None:
                node[:] = parts.items()
            if isinstance(node, dict | list):
                inner = node.values() if isinstance(node, dict) else node
                todo += [element for element in inner if isinstance(element, dict | list)]

    def equals(self, value: Any, other: Any) -> bool:
        """Compare a value with another one as JSON texts: 2 is not 2.0, and true is not 1."""
        if isinstance(value, list) and (parts := self._long.get(id(value))) is not None:
            if not isinstance(other, list) or len(other) != parts.length:
                return False
            value = parts.items()
        if type(value) is not type(other):
            return False
        if isinstance(value, dict):
            return value.keys() == other.keys() and all(
                self.equals(element, other[name]) for name, element in value.items()
            )
        if isinstance(value, list):
            return len(value) == len(other) and all(map(self.equals, value, other))
        return bool(value == other)

    def _writable(self, tokens: Sequence[str]) -> Any:
        """Return the container of the last token for changes. Raises CannotApply."""
        self._check(tokens)
        self._root[0] = node = self._own_copy(self._root[0])
        for token in tokens[:-1]:
            inner = self._own_copy(self.item(node, token))
            self._set(node, token, inner)
            node = inner
        return node

    def _check(self, tokens: Sequence[str]) -> None:
        if not isinstance(self.container(tokens), dict | list):
            raise CannotApply

    def _own_copy(self, node: Any) -> Any:
        if id(node) in self._own:
            return node
        copy = node.copy()
        self._own[id(copy)] = copy
        return copy

    def _set(self, container: Any, token: str, value: Any) -> None:
        if isinstance(container, dict):
            container[token] = value
        elif (parts := self._long.get(id(container))) is not None:
            parts[index(token, parts.length)] = value
        else:
            container[index(token, len(container))] = value

    def _parts(self, container: list[Any]) -> ChunkedList | list[Any]:
        """Return a list whose length will change: itself, or its parts if it is long."""
        parts = self._long.get(id(container))
        if parts is None and len(container) > LONG_LIST:
            parts = self._long[id(container)] = ChunkedList(container)
        return container if parts is None else parts

    def replace(self, tokens: Sequence[str], value: Any) -> None:
        """Replace an existing value; in a map, also add a new member."""
        self._set(self._writable(tokens), tokens[-1], value)

    def add(self, tokens: Sequence[str], value: Any) -> None:
        """Add a member to a map, or insert an item into a list (`-` is its end)."""
        node, token = self._writable(tokens), tokens[-1]
        if isinstance(node, dict):
            node[token] = value
            return
        items = self._parts(node)
        length = items.length if isinstance(items, ChunkedList) else len(items)
        items.insert(length if token == "-" else index(token, length + 1), value)

    def remove(self, tokens: Sequence[str]) -> None:
        """Remove an existing value."""
        token = tokens[-1]
        self.item(self.container(tokens), token)
        node = self._writable(tokens)
        if isinstance(node, dict):
            del node[token]
            return
        items = self._parts(node)
        length = items.length if isinstance(items, ChunkedList) else len(items)
        items.pop(index(token, length))
