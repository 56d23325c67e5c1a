"""Anchors and aliases of a YAML document, with the limits of Go's `yaml.v2`."""

from __future__ import annotations

from typing import Any, Final

from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

_UNFINISHED: Final = object()
_EXCESSIVE: Final = "document contains excessive aliasing"
_FEW, _MANY = 400_000, 4_000_000
_MOST_CHARACTERS: Final = 32_000_000
"""The most characters that aliases repeat: Go has no such limit, and runs out of memory."""


class Anchors:
    """The anchored values of one document.

    decoded: the number of decoded nodes as Go counts them, with all aliases expanded.
    """

    __slots__ = ("_aliased", "_characters", "_known", "decoded")

    def __init__(self) -> None:
        self.decoded = 1  # the document is a node
        self._aliased = 0
        self._characters = 0
        self._known: dict[str, tuple[Any, int]] = {}

    def begin(self, name: str) -> None:
        """Anchor a list or map that is not finished yet."""
        self._known[name] = _UNFINISHED, 0

    def add(self, name: str, value: Any, nodes: int) -> None:
        """Store an anchored value. nodes: its number of nodes."""
        self._known[name] = value, nodes

    def check_known(self, event: Any) -> None:
        """Raise ComposerError if there is no anchor of an alias."""
        if event.anchor not in self._known:
            problem = f"unknown anchor '{event.anchor}' referenced"
            raise ComposerError(None, None, problem, event.start_mark)

    def value_of(self, event: Any, levels: int) -> Any:
        """Return a copy of the value that an alias stands for.

        levels: the most that it may have. Raises ComposerError, ConstructorError.
        """
        self.check_known(event)
        value, nodes = self._known[event.anchor]
        if value is _UNFINISHED:
            problem = f"anchor '{event.anchor}' value contains itself"
            raise ConstructorError(None, None, problem, event.start_mark)
        self.decoded += 1 + nodes
        self._aliased += nodes
        self.check(event)
        return self._copy(value, levels, event)

    def check(self, event: Any) -> None:
        """Raise ConstructorError if too much of the document is aliases.

        Between two aliases their share only falls, so that it need not be checked there.
        """
        if self._aliased <= 100 or self.decoded <= 1000:
            return
        if self._aliased / self.decoded > _allowed_share(self.decoded):
            raise ConstructorError(None, None, _EXCESSIVE, event.start_mark)

    def _copy(self, value: Any, levels: int, event: Any) -> Any:
        if isinstance(value, (str, bytes)):
            self._characters += len(value)
            if self._characters > _MOST_CHARACTERS:
                raise ConstructorError(None, None, _EXCESSIVE, event.start_mark)
            return value
        if not isinstance(value, (dict, list)):
            return value
        if levels <= 0:
            raise ConstructorError(None, None, "exceeded max depth", event.start_mark)
        if isinstance(value, list):
            return [self._copy(item, levels - 1, event) for item in value]
        return {
            self._copy(key, 0, event): self._copy(item, levels - 1, event)
            for key, item in value.items()
        }


def _allowed_share(nodes: int) -> float:
    """Return the share of a document's nodes that may come from aliases. nodes: their total
    number."""
    if nodes <= _FEW:
        return 0.99
    if nodes >= _MANY:
        return 0.10
    return 0.99 - 0.89 * ((nodes - _FEW) / (_MANY - _FEW))
