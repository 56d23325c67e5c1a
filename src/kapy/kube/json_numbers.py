"""Numbers of JSON as Go holds them, in values of any depth. Arguments are never changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_SMALLEST: Final = -(1 << 63)
_LARGEST: Final = (1 << 63) - 1
_EXACT: Final = 1 << 53


def mapped(value: Any, number: Callable[[float], float]) -> Any:
    """A value with something else in the place of each of its numbers."""
    if isinstance(value, dict):
        return {key: mapped(one, number) for key, one in value.items()}
    if isinstance(value, list):
        return [mapped(one, number) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return value


def fitting(value: Any) -> Any:
    """As documents hold them: a whole number that needs more than 64 bits is a float.

    Raises ValueError for one that is too large for a float.
    """
    return mapped(value, _fitting)


def as_double(value: Any) -> Any:
    """As what remains of them when all were floats: one without a fraction is whole, unless it is
    so large that not every whole number is a float."""
    return mapped(value, _as_double)


def _fitting(value: float) -> float:
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        return double(value)
    return value


def double(value: float) -> float:
    """A number as a float. Raises ValueError when it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number is out of range") from None


def _as_double(value: float) -> float:
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else double(value)
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value
