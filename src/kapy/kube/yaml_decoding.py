"""Documents built from YAML's parser events, as Go's `yaml.v2` and `sigs.k8s.io/yaml` decode them.

No tree of nodes is built: each node has two marks, and freeing the nodes of a hostile document
stops all threads of the process for longer than everything else. Anchors and aliases have the
limits of `yaml.v2`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from kapy.kube.depth import MAX_DEPTH
from kapy.kube.go_literals import float_text, go_quoted
from kapy.kube.text_cache import MAX_TEXT
from kapy.kube.yaml_scalars import (
    MERGE,
    STR,
    UnsupportedValue,
    key_name,
    plain_value,
    short_tag,
    tag_of,
    tagged_value,
)

_NO_KEY: Final = object()
_MERGING: Final = object()
_MOST_DUPLICATES: Final = 1000
_TOO_LARGE: Final = 1 << 63
_LARGEST_KEY: Final = _TOO_LARGE - 1


_NO_MAP_KEY: Final = "a map key must be a string, a number of 64 bits or a boolean"
_UNFINISHED: Final = object()
_EXCESSIVE: Final = "document contains excessive aliasing"
_FEW, _MANY = 400_000, 4_000_000
_MOST_CHARACTERS: Final = 32_000_000
"""The most characters that aliases repeat: Go has no such limit, and runs out of memory."""


class Decoder:
    """Decodes the documents of one YAML text.

    duplicates: receives a message for each key that a map has twice. binary: whether values with
    the tag `!!binary` become bytes.
    """

    __slots__ = ("_binary", "_next", "_open", "_parser", "anchors", "duplicates", "later")

    def __init__(
        self, text: str | bytes, duplicates: list[str] | None, *, binary: bool = False
    ) -> None:
        self._binary = binary
        self._parser: Any = yaml.cyaml.CParser(text)  # type: ignore[attr-defined]
        self._next: Callable[[], Any] = self._parser.get_event
        self._open: list[_Root | _List | _Map] = []
        self.anchors = Anchors()
        self.duplicates = duplicates
        self.later: Exception | None = None
        """An error that Go finds only when it converts the decoded document to JSON."""

    def documents(self) -> Iterator[Any]:
        """Yield one document after the other. Raises PyYAML's errors, UnsupportedValue."""
        try:
            self._next()
            while type(self._next()) is yaml.DocumentStartEvent:
                yield self._document()
        finally:
            self._parser.dispose()

    def _document(self) -> Any:
        root = _Root()
        self._open.append(root)
        self.anchors, self.later = Anchors(), None
        following, event = self._next, None
        try:
            while (kind := type(event := following())) is not yaml.DocumentEndEvent:
                _HANDLERS[kind](self, event)
            self.anchors.check(event)
            if self.later is not None:
                raise self.later
        except ConstructorError:
            self._open.clear()
            self._check_rest(event)
            raise
        finally:
            self._open.clear()
        return root.value

    def _check_rest(self, event: Any) -> None:
        """Parse the rest of a document with an unsupported value: syntax errors are reported
        first."""
        while type(event) is not yaml.DocumentEndEvent:
            if type(event) is yaml.AliasEvent:
                self.anchors.check_known(event)
            elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
                self.anchors.begin(event.anchor)
            event = self._next()

    def _scalar(self, event: Any) -> None:
        value = event.value
        if event.tag is not None:
            value = tagged_value(event, binary=self._binary)
        elif event.implicit[0]:
            tag = short_tag(value) if len(value) <= MAX_TEXT else tag_of(value)
            if tag != STR:
                value = plain_value(tag, value)
        anchors = self.anchors
        anchors.decoded += 1
        if event.anchor is not None:
            anchors.add(event.anchor, value, 1)
        self._open[-1].take(value, event, self)

    def _begin_list(self, event: Any) -> None:
        self._begin(_List(event))

    def _begin_map(self, event: Any) -> None:
        self._begin(_Map(event))

    def _begin(self, node: _List | _Map) -> None:
        if len(self._open) > MAX_DEPTH + 1:  # the document, and an innermost list that may be empty
            raise yaml.MarkedYAMLError(problem="exceeded max depth")
        node.before = self.anchors.decoded
        self.anchors.decoded += 1
        if node.start.anchor is not None:
            self.anchors.begin(node.start.anchor)
        self._open.append(node)

    def _end(self, _: Any) -> None:
        node: Any = self._open.pop()
        start = node.start
        if start.anchor is not None:
            self.anchors.add(start.anchor, node.value, self.anchors.decoded - node.before)
        self._open[-1].take(node.value, start, self)

    def _alias(self, event: Any) -> None:
        levels = MAX_DEPTH + 2 - len(self._open)
        self._open[-1].take(self.anchors.value_of(event, levels), event, self)

    def tell_duplicate(self, key: Any, event: Any) -> None:
        """Report a key that a map has already. event: the parser event of the second value."""
        if self.duplicates is not None and len(self.duplicates) < _MOST_DUPLICATES:
            line = event.start_mark.line + 1
            self.duplicates.append(f"line {line}: key {_go_text(key)} already set in map")


_HANDLERS: Final[dict[type, Callable[[Decoder, Any], None]]] = {
    yaml.ScalarEvent: Decoder._scalar,
    yaml.AliasEvent: Decoder._alias,
    yaml.SequenceStartEvent: Decoder._begin_list,
    yaml.MappingStartEvent: Decoder._begin_map,
    yaml.SequenceEndEvent: Decoder._end,
    yaml.MappingEndEvent: Decoder._end,
}


class _Root:
    """Receives the value of a document."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def take(self, value: Any, _: Any, decoder: Decoder) -> None:
        self.value = _in_json(value, decoder) if type(value) is float else value


class _List:
    """A list that is being decoded. start: the parser event of its start. before: the number of
    nodes decoded before it.
    """

    __slots__ = ("before", "start", "value")

    def __init__(self, start: Any) -> None:
        self.start = start
        self.before = 0
        self.value: list[Any] = []

    def take(self, value: Any, _: Any, decoder: Decoder) -> None:
        self.value.append(_in_json(value, decoder) if type(value) is float else value)


class _Map:
    """A map that is being decoded."""

    __slots__ = ("_key", "before", "start", "value")

    def __init__(self, start: Any) -> None:
        self.start = start
        self.before = 0
        self.value: dict[str, Any] = {}
        self._key: Any = _NO_KEY

    def take(self, value: Any, event: Any, decoder: Decoder) -> None:
        """Add a key, or the value of the previous key."""
        key = self._key
        if key is _NO_KEY:
            plain = type(value) is str and value != "<<"
            self._key = value if plain else _unusual_key(value, event)
            return
        self._key = _NO_KEY
        if key is _MERGING:
            self._merge(value, event, decoder)
        else:
            self._set(key, value, event, decoder)

    def _set(self, key: Any, value: Any, event: Any, decoder: Decoder) -> None:
        if type(value) is float:
            value = _in_json(value, decoder)
        name = key if type(key) is str else _name(key, event, decoder)
        if decoder.duplicates is not None and name in self.value:
            decoder.tell_duplicate(key, event)
        self.value[name] = value

    def _merge(self, value: Any, event: Any, decoder: Decoder) -> None:
        """Insert the members of a merge key's value; of several maps the first one wins."""
        several = isinstance(value, list) and type(event) is not yaml.AliasEvent
        for item in reversed(value) if several else [value]:
            if not isinstance(item, dict):
                problem = "map merge requires map or sequence of maps as the value"
                raise ConstructorError(None, None, problem, event.start_mark)
            for key, inner in item.items():
                self._set(key, inner, event, decoder)


def _unusual_key(value: Any, event: Any) -> Any:
    """Return a key, or the mark of a merge key. Raises ConstructorError for lists and maps."""
    if value == "<<":
        plain = type(event) is yaml.ScalarEvent and (event.implicit[0] or event.tag == MERGE)
        return _MERGING if plain else value
    if isinstance(value, (dict, list)):
        raise ConstructorError(None, None, _NO_MAP_KEY, event.start_mark)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _name(key: Any, event: Any, decoder: Decoder) -> str:
    """Return the name in JSON of a key that is not a string."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float):
        return key_name(key)
    if key is None or key > _LARGEST_KEY:
        decoder.later = ConstructorError(None, None, _NO_MAP_KEY, event.start_mark)
    return str(key)


def _in_json(value: float, decoder: Decoder) -> float | None:
    """Return a float in the form that it has in JSON: an integer if it is whole and fits into 64
    bits.
    """
    if not math.isfinite(value):
        decoder.later = UnsupportedValue(f"json: unsupported value: {float_text(value)}")
        return None
    return int(value) if value.is_integer() and -_TOO_LARGE <= value < _TOO_LARGE else value


def _go_text(key: Any) -> str:
    """Return a key in Go's `%#v` format."""
    if isinstance(key, str):
        return go_quoted(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    return float_text(key) if isinstance(key, float) else str(key)


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

        levels: the maximum number of nested levels of the value. Raises ComposerError,
        ConstructorError.
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
