"""Numbers, texts and values of JSON as Go stores and prints them. Arguments are never changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

_MIN_INTEGER: Final = -(1 << 63)
_MAX_INTEGER: Final = (1 << 63) - 1
_EXACT: Final = 1 << 53

_LARGEST_FIXED: Final = 1e21
_MIN_EXPONENT: Final = -4
_LIMIT: Final = 6
"""The exponents of ten between which a number is printed without an exponent."""
_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def map_numbers(value: Any, number: Callable[[float], float]) -> Any:
    """Return a value with a function applied to each of its numbers."""
    if isinstance(value, dict):
        return {key: map_numbers(item, number) for key, item in value.items()}
    if isinstance(value, list):
        return [map_numbers(item, number) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return value


def fit_integers(value: Any) -> Any:
    """Convert integers of more than 64 bits to floats, as in documents.

    Raises ValueError for numbers too large for a float.
    """
    return map_numbers(value, _fit_integer)


def as_doubles(value: Any) -> Any:
    """Convert numbers as if all had been floats: integral ones become integers.

    A float too large to represent every integer stays a float.
    """
    return map_numbers(value, _as_double)


def _fit_integer(value: float) -> float:
    if isinstance(value, int) and not _MIN_INTEGER <= value <= _MAX_INTEGER:
        return to_double(value)
    return value


def to_double(value: float) -> float:
    """Convert a number to a float. Raises ValueError if it is too large."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number is out of range") from None


def _as_double(value: float) -> float:
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else to_double(value)
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def float_text(value: float) -> str:
    """Return a float64 in Go's %v format: the fewest digits, with an exponent from 1e+06 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0"
    number = Decimal(repr(abs(float(value)))).normalize()
    exponent = number.adjusted()
    if _MIN_EXPONENT <= exponent < _LIMIT:
        return f"{sign}{number:f}"
    digits = "".join(map(str, number.as_tuple().digits))
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def as_json(value: Any) -> Any:
    """Return JSON data with integral floats as integers, as encoding/json writes them."""
    return map_numbers(value, _whole)


def _whole(value: float) -> float:
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_FIXED:
        return int(value)
    return value


def go_quoted(text: str) -> str:
    """Return a string in Go's `%q` format."""
    out = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            out.append(f"\\{character}")
        elif code in _ESCAPES:
            out.append(_ESCAPES[code])
        elif character.isprintable():
            out.append(character)
        else:
            out.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
    return f'"{"".join(out)}"'


_GO_TYPES: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def go_type(value: Any) -> str:
    """Return the name of the type, as `%s` of `reflect.TypeOf` prints it."""
    return _GO_TYPES.get(type(value), "%!s(<nil>)")


def go_text(value: Any) -> str:
    """Return a value in Go's %v format."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    return "<nil>" if value is None else str(value)


def go_string(value: Any) -> str:
    """Return a value in Go's %s format; for a value that is not a string, with Go's error text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        parts = (f"{key}:{go_string(value[key])}" for key in sorted(value))
        return f"map[{' '.join(parts)}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_string, value))}]"
    return "%!s(<nil>)" if value is None else f"%!s({go_type(value)}={go_text(value)})"
