"""JSON numbers as Go stores them, in nested values. Arguments are never changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_SMALLEST: Final = -(1 << 63)
_LARGEST: Final = (1 << 63) - 1
_EXACT: Final = 1 << 53


def mapped(value: Any, number: Callable[[float], float]) -> Any:
    """Return a value with a function applied to each of its numbers."""
    if isinstance(value, dict):
        return {key: mapped(one, number) for key, one in value.items()}
    if isinstance(value, list):
        return [mapped(one, number) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return value


def fitting(value: Any) -> Any:
    """Convert integers of more than 64 bits to floats, as in documents.

    Raises ValueError for numbers too large for a float.
    """
    return mapped(value, _fitting)


def as_double(value: Any) -> Any:
    """Convert numbers as if all had been floats: integral ones become integers.

    A float too large to represent every integer stays a float.
    """
    return mapped(value, _as_double)


def _fitting(value: float) -> float:
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        return double(value)
    return value


def double(value: float) -> float:
    """Convert a number to a float. Raises ValueError if it is too large."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number is out of range") from None


def _as_double(value: float) -> float:
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else double(value)
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value
