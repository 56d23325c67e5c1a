"""Messages of Go's encoding/json about invalid JSON and duplicate fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from kapy.apiserver.encoding.long_json import loads
from kapy.kube.field_errors import Path, member, path_text

_SHOWN = 40
_KEY = "looking for beginning of object key string"
_VALUE = "looking for beginning of value"
_CONTEXTS = {
    "Expecting property name enclosed in double quotes": _KEY,
    "Expecting ':' delimiter": "after object key",
    "Expecting value": _VALUE,
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Illegal trailing comma before end of object": _KEY,
}


_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def to_go_values(value: Any) -> Any:
    """Return JSON data as Go decodes it: no lone surrogates, no infinite numbers.

    Lists and dicts are changed in place: a copy of a large document would be freed at once, which
    stops all threads. Raises ValueError for numbers out of range. Integers beyond 64 bits become
    floats.
    """
    if isinstance(value, str):
        return _SURROGATE.sub(_REPLACEMENT, value)
    if isinstance(value, dict):
        return _members_to_go_values(value)
    if isinstance(value, list):
        for index, item in enumerate(value):
            value[index] = to_go_values(item)
        return value
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        value = float(value) if value.bit_length() <= 1024 else math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is out of range")
    return value


def _members_to_go_values(value: dict[str, Any]) -> dict[str, Any]:
    for key, item in value.items():
        value[key] = to_go_values(item)
    if any(_SURROGATE.search(key) for key in value):
        return {_SURROGATE.sub(_REPLACEMENT, key): element for key, element in value.items()}
    return value


def syntax_error(raw: bytes, encoding: str = "utf-8") -> str:
    """Return the message about the first invalid character."""
    text = raw.decode(encoding, "replace")
    try:
        loads(
            text, parse_constant=_refuse_constant, parse_int=_parse_float, parse_float=_parse_float
        )
    except RecursionError:
        return "exceeded max depth"
    except json.JSONDecodeError as error:
        position = _skip_space(text, error.pos)
        if position >= len(text) or "Unterminated" in error.msg:
            return "unexpected end of JSON input"
        where = _CONTEXTS.get(error.msg, _VALUE)
        if error.msg == "Expecting ',' delimiter":
            where = _after_value_error(text, position)
        return (_literal_error(text, position) if where == _VALUE else "") or (
            f"invalid character {_quote_character(text[position])} {where}"
        )
    except OverflowError as error:
        return str(error)
    return "unexpected end of JSON input"


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        result = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise OverflowError(f"cannot unmarshal number {result} into Go value of type float64")
    return number


def _refuse_constant(text: str) -> float:
    result = text.removeprefix("-")
    raise OverflowError(
        f"invalid character {_quote_character(result[0])} looking for beginning of value"
    )


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _literal_error(text: str, position: int) -> str:
    """Return the message about a malformed true, false or null."""
    for word in ("true", "false", "null"):
        match = re.match(r"[a-z]+", text[position:])
        if match is None or match[0] == word or match[0][0] != word[0]:
            continue
        for index, letter in enumerate(word):
            got = text[position + index : position + index + 1]
            if not got:
                return "unexpected end of JSON input"
            if got != letter:
                return (
                    f"invalid character {_quote_character(got)} in literal {word} "
                    f"(expecting {_quote_character(letter)})"
                )
    return ""


def _after_value_error(text: str, position: int) -> str:
    depth = 0
    for character in reversed(text[:position]):
        if character in "}]":
            depth += 1
        elif character in "{[":
            if depth == 0:
                return "after object key:value pair" if character == "{" else "after array element"
            depth -= 1
    return "after top-level value"


def _quote_character(character: str) -> str:
    if character == "'":
        return "'\\''"
    return f"'{character}'" if character.isprintable() else f"'\\u{ord(character):04x}'"


MOST_REPEATED = 100
"""The most duplicate fields that Go's strict decoder reports."""


def duplicate_fields(raw: bytes) -> list[str]:
    """Return the paths of duplicate fields in order, at most MOST_REPEATED."""
    duplicates = _collect_duplicates(
        loads(raw.decode("utf-8", "replace"), object_pairs_hook=_Pairs), ""
    )
    return [path_text(path) for path in islice(duplicates, MOST_REPEATED)]


class _Pairs(dict[str, Any]):
    """A JSON object that records its duplicate keys."""

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        super().__init__(items)
        keys: set[str] = set()
        self.again = dict.fromkeys(key for key, _ in items if key in keys or keys.add(key))  # type: ignore[func-returns-value]


def _collect_duplicates(node: Any, path: Path) -> Iterator[Path]:
    if isinstance(node, _Pairs):
        for key in node.again:
            yield member(path, key)
        for key, value in node.items():
            if isinstance(value, _Pairs | list):
                yield from _collect_duplicates(value, member(path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            if isinstance(value, _Pairs | list):
                yield from _collect_duplicates(value, (path, index))
