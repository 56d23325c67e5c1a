"""Floating-point numbers and quoted strings as Go prints them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

from kapy.kube.json_numbers import map_numbers

_LARGEST_FIXED: Final = 1e21


_MIN_EXPONENT: Final = -4
_LIMIT: Final = 6
"""The exponents of ten between which a number is printed without an exponent."""
_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


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
