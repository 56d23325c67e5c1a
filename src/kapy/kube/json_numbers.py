"""JSON numbers as Go stores them, in nested values. Arguments are never changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_MIN_INTEGER: Final = -(1 << 63)
_MAX_INTEGER: Final = (1 << 63) - 1
_EXACT: Final = 1 << 53


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
