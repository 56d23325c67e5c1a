"""`'...'.format([...])`: cel-go's string formatting."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.functions.conversions import double_text
from kapy.kube.cel.functions.times import duration_text, timestamp_text
from kapy.kube.cel.values import kind_of

_CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.(\d+))?(.)|$)", re.DOTALL)


def format_text(text: str, values: list[Any]) -> str:
    """Return the text with its clauses (`%s %d %f %e %b %o %x %X`) replaced by values."""
    rest = iter(values)

    def fill(match: re.Match[str]) -> str:
        if match[1]:
            return "%"
        try:
            value = next(rest)
        except StopIteration:
            raise EvaluationError("index out of range: not enough arguments") from None
        digits = match[2] or "6"
        if len(digits) > 4:
            raise EvaluationError(f"precision of a formatting clause is too large: {digits[:20]}")
        return _clause(match[3] or "", int(digits), value)

    return _CLAUSE.sub(fill, text)


def format_problem(text: str, kinds: list[str]) -> str:
    """Return why a constant text cannot be formatted with values of these types; "" if it can.

    cel-go checks a call of constants when it compiles an expression.
    """
    count = 0
    for match in _CLAUSE.finditer(text):
        if match[1]:
            continue
        clause = match[3] or ""
        if not clause:
            return "unexpected end of string"
        if clause not in _EXPECTED and clause != "s":
            return f'could not parse formatting clause: unrecognized formatting clause "{clause}"'
        if count >= len(kinds):
            return f"index {count} out of range"
        kind = kinds[count]
        if clause != "s" and kind != "dyn" and kind not in _FORMATTED[clause]:
            return f"error during formatting: {_EXPECTED[clause]}, was given {kind}"
        count += 1
    if count < len(kinds):
        return f"too many arguments supplied to string.format (expected {count}, got {len(kinds)})"
    return ""


_NUMBERS: Final = ("int", "uint")
_FORMATTED: Final = {
    "d": _NUMBERS,
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": (*_NUMBERS, "bool"),
    "o": _NUMBERS,
    "x": (*_NUMBERS, "string", "bytes"),
    "X": (*_NUMBERS, "string", "bytes"),
}
"""The types of arguments that the compiler accepts for the letter of each clause."""


def _clause(clause: str, precision: int, value: Any) -> str:
    kind = kind_of(value)
    if clause == "s":
        return value_text(value)
    if clause == "d" and kind in ("int", "uint"):
        return str(int(value))
    if clause in ("f", "e") and kind in ("int", "uint", "double"):
        return format(float(value), f".{precision}{clause}")
    if clause in ("b", "o") and kind in ("int", "uint", "bool"):
        return format(int(value), clause)
    if clause in ("x", "X"):
        if kind in ("int", "uint"):
            return format(int(value), clause)
        if kind in ("string", "bytes"):
            digits = (value.encode() if kind == "string" else value).hex()
            return str(digits.upper() if clause == "X" else digits)
    raise EvaluationError(
        f'could not parse formatting clause: unrecognized formatting clause "{clause}"'
        if clause not in "sdfeboxX" or not clause
        else f"error during formatting: {_EXPECTED[clause]}, was given {kind}"
    )


_EXPECTED: Final = {
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
}


def value_text(value: Any) -> str:
    """Return the text of a value for `%s`."""
    kind = kind_of(value)
    show = _VALUE_TEXTS.get(kind)
    if show is None:
        raise EvaluationError(
            "error during formatting: string clause can only be used on strings, bools, bytes, "
            "ints, doubles, maps, lists, types, durations, and timestamps, "
            f"was given {kind}"
        )
    return show(value)


def _map_text(value: dict[Any, Any]) -> str:
    entries = sorted((value_text(key), value_text(item)) for key, item in value.items())
    return "{" + ", ".join(f"{key}: {item}" for key, item in entries) + "}"


_VALUE_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "string": str,
    "bool": lambda value: "true" if value else "false",
    "null_type": lambda _: "null",
    "double": double_text,
    "bytes": lambda value: str(value.decode(errors="replace")),
    "timestamp": timestamp_text,
    "duration": duration_text,
    "list": lambda value: f"[{', '.join(map(value_text, value))}]",
    "map": _map_text,
    "type": lambda value: str(value.name),
    "int": str,
    "uint": lambda value: str(int(value)),
}
