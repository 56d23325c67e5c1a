"""YAML read into the fields of a schema, as the Container Linux Config Transpiler reads it.

Scalars are read by the type of their field, not by their own: `name: 0123` is the text "0123",
`mode: 0600` an octal number, `enabled: yes` a boolean. Null counts as absent.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import yaml

from kapy.kube.yaml_nodes import PLAIN

Scalar = Literal["string", "content", "bool", "int", "uint"]
"""content: a text, or with `!!binary` bytes."""


@dataclass(frozen=True, slots=True)
class Record:
    """The schema of a mapping with known keys."""

    fields: Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class Sequence:
    """The schema of a list whose items have the same schema."""

    of: Kind


Kind = Scalar | Record | Sequence

_TRUE: Final = frozenset({"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE: Final = frozenset(
    {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"}
)
_BOOLEANS: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TAG: Final = "tag:yaml.org,2002:"
_BINARY: Final = f"{_TAG}binary"
_SAID: Final = frozenset(f"{_TAG}{name}" for name in ("bool", "int", "float", "null", "timestamp"))
_NUMBER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))"
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?")
_MOST_NODES: Final = 100_000
_MOST_BYTES: Final = 8 << 20
_LONGEST_NUMBER: Final = 100
_SHOWN: Final = 40

ABSENT: Final = object()


@dataclass(slots=True)
class Reader:
    """Reads nodes and collects errors, and warnings that are errors in strict mode."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _nodes: int = 0
    _bytes: int = 0

    def read(self, kind: Kind, node: yaml.Node, path: str) -> Any:
        """Return the value of a node, ABSENT for null or after an error. path: the path of the
        node, for messages.

        Records are dicts with the keys that have a value.
        """
        self._nodes += 1
        if self._nodes > _MOST_NODES or self._bytes > _MOST_BYTES:
            if not self.errors:
                self.errors.append(f"{path}: the config is too large with its aliases written out")
            return ABSENT
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(kind, node, path)
        if isinstance(kind, Record) and isinstance(node, yaml.MappingNode):
            return self._record(kind, node, path)
        if isinstance(kind, Sequence) and isinstance(node, yaml.SequenceNode):
            result = (
                self.read(kind.of, item, f"{path}[{index}]")
                for index, item in enumerate(node.value)
            )
            return [item for item in result if item is not ABSENT]
        return self._wrong(node, path, kind)

    def _record(self, kind: Record, node: yaml.MappingNode, path: str) -> Any:
        values: dict[str, Any] = {}
        keys: set[str] = set()
        for key_node, value_node in node.value:
            key = key_node.value
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                self.errors.append(f"line {line}: {path or 'the config'} has a key that is no text")
                continue
            inner = f"{path}.{key}" if path else key
            if key == "<<" and key_node.tag == PLAIN:
                self.errors.append(f"line {line}: {inner}: merge keys are not supported")
            elif key in keys:
                self.errors.append(f"line {line}: {inner[:200]} is defined twice")
            elif key not in kind.fields:
                self.warnings.append(f"line {line}: {inner[:200]} is not known")
            elif (value := self.read(kind.fields[key], value_node, inner)) is not ABSENT:
                values[key] = value
            keys.add(key)
        return values

    def _scalar(self, kind: Kind, node: yaml.ScalarNode, path: str) -> Any:
        text: str = node.value
        self._bytes += len(text)
        plain = node.tag == PLAIN or node.tag in _SAID
        if plain and text in _NULL:
            return ABSENT
        if kind == "string":
            text = self._text(node, path)
            return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        if kind == "content":
            return self._text(node, path)
        if kind == "bool" and plain and text in _TRUE:
            return True
        if kind == "bool" and plain and text in _FALSE:
            return False
        if kind in ("int", "uint") and plain:
            number = _number(text)
            if number is not None and (kind == "int" or number >= 0):
                return number
        return self._wrong(node, path, kind)

    def _text(self, node: yaml.ScalarNode, path: str) -> Any:
        if node.tag in _SAID and not _is_of(node.tag, node.value):
            return self._wrong(node, path, "string")
        if node.tag != _BINARY:
            return str(node.value)
        try:
            text = node.value.replace("\n", "").replace("\r", "")
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            line = node.start_mark.line + 1
            self.errors.append(f"line {line}: {path} is not base64")
            return ABSENT

    def _wrong(self, node: yaml.Node, path: str, kind: Kind) -> object:
        line = node.start_mark.line + 1
        wanted = _NAMES.get(kind) if isinstance(kind, str) else None
        wanted = wanted or ("a mapping" if isinstance(kind, Record) else "a list")
        actual = f", not {node.value[:_SHOWN]!r}" if isinstance(node, yaml.ScalarNode) else ""
        self.errors.append(f"line {line}: {path or 'the config'} must be {wanted}{actual}")
        return ABSENT


_NAMES: Final = {
    "string": "a text",
    "content": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "uint": "a whole number that is not negative",
}


def _is_of(tag: str, text: str) -> bool:
    """Return whether a plain scalar is valid for its tag."""
    name = tag.removeprefix(_TAG)
    if name == "bool":
        return text in _BOOLEANS
    return name == "timestamp" or _number(text) is not None


def _number(text: str) -> int | None:
    """Return a whole number as Go's YAML reads it: also `0600` and `1e3`."""
    if len(text) > _LONGEST_NUMBER or _DATE.fullmatch(text) or text[:1] == "_":
        return None
    plain = text.replace("_", "")
    value: int | None = None
    if match := _NUMBER.fullmatch(plain):
        sign, *written = match.groups()
        bases = zip(written, (16, 2, 8, 10), strict=True)
        value = next(int(digits, base) for digits, base in bases if digits is not None)
        value = -value if sign == "-" else value
    elif _FLOAT.fullmatch(plain):
        number = float(plain)
        value = int(number) if abs(number) <= _LARGEST else None
    return value if value is not None and abs(value) <= _LARGEST else None


_LARGEST: Final = (1 << 63) - 1
