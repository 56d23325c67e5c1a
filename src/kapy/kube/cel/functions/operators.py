"""Arithmetic, order, membership and size."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import KEYS, Duration, Timestamp, UInt, equal, kind_of

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1


def _int(compute: Callable[[int, int], int]) -> Function:
    def run(one: int, two: int) -> int:
        result = compute(one, two)
        if _LEAST <= result <= _MOST:
            return result
        raise EvaluationError("integer overflow")

    return run


def _uint(compute: Callable[[int, int], int]) -> Function:
    def run(one: int, two: int) -> UInt:
        result = compute(int(one), int(two))
        if 0 <= result < 2**64:
            return UInt(result)
        raise EvaluationError("unsigned integer overflow")

    return run


def _time(kind: type[Timestamp] | type[Duration], compute: Callable[[int, int], int]) -> Function:
    def run(one: int, two: int) -> int:
        result = compute(int(one), int(two))
        if kind is Duration and not _LEAST <= result <= _MOST:
            raise EvaluationError("integer overflow")
        return kind(result)

    return run


def _divided(one: int, two: int) -> int:
    """Towards zero, as in Go."""
    if two == 0:
        raise EvaluationError("division by zero")
    result = abs(one) // abs(two)
    return result if (one < 0) == (two < 0) else -result


def _remainder(one: int, two: int) -> int:
    if two == 0:
        raise EvaluationError("modulus by zero")
    return int(math.copysign(abs(one) % abs(two), one)) if abs(one) < 2**52 else _exact(one, two)


def _exact(one: int, two: int) -> int:
    rest = abs(one) % abs(two)
    return -rest if one < 0 else rest


def _quotient(one: float, two: float) -> float:
    if two == 0:
        return math.nan if one == 0 or one != one else math.copysign(math.inf, one) * _sign(two)
    return one / two


def _sign(number: float) -> float:
    return math.copysign(1.0, number)


def _in_list(value: Any, items: list[Any]) -> bool:
    if type(value) is str:
        return value in items
    return any(equal(value, one) for one in items)


def _in_map(value: Any, entries: dict[Any, Any]) -> bool:
    return kind_of(value) in KEYS and value in entries


def _negative(number: int) -> int:
    if number == _LEAST:
        raise EvaluationError("integer overflow")
    return -number


_NUMBERS: Final = ("int", "uint", "double")
_ORDERED: Final = (
    *((one, two) for one in _NUMBERS for two in _NUMBERS),
    *((one, one) for one in ("string", "bytes", "bool", "timestamp", "duration")),
)
_COMPARE: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

FUNCTIONS: Final[dict[str, Function]] = {
    **{
        f"_{sign}_({one}, {two}) -> bool": compare
        for sign, compare in _COMPARE.items()
        for one, two in _ORDERED
    },
    "_+_(int, int) -> int": _int(operator.add),
    "_-_(int, int) -> int": _int(operator.sub),
    "_*_(int, int) -> int": _int(operator.mul),
    "_/_(int, int) -> int": _int(_divided),
    "_%_(int, int) -> int": _int(_remainder),
    "_+_(uint, uint) -> uint": _uint(operator.add),
    "_-_(uint, uint) -> uint": _uint(operator.sub),
    "_*_(uint, uint) -> uint": _uint(operator.mul),
    "_/_(uint, uint) -> uint": _uint(_divided),
    "_%_(uint, uint) -> uint": _uint(_remainder),
    "_+_(double, double) -> double": operator.add,
    "_-_(double, double) -> double": operator.sub,
    "_*_(double, double) -> double": operator.mul,
    "_/_(double, double) -> double": _quotient,
    "_+_(string, string) -> string": operator.add,
    "_+_(bytes, bytes) -> bytes": operator.add,
    "_+_(list<A>, list<A>) -> list<A>": operator.add,
    "_+_(timestamp, duration) -> timestamp": _time(Timestamp, operator.add),
    "_+_(duration, timestamp) -> timestamp": _time(Timestamp, operator.add),
    "_+_(duration, duration) -> duration": _time(Duration, operator.add),
    "_-_(timestamp, timestamp) -> duration": _time(Duration, operator.sub),
    "_-_(timestamp, duration) -> timestamp": _time(Timestamp, operator.sub),
    "_-_(duration, duration) -> duration": _time(Duration, operator.sub),
    "-_(int) -> int": _negative,
    "-_(double) -> double": operator.neg,
    "!_(bool) -> bool": operator.not_,
    "@in(A, list<A>) -> bool": _in_list,
    "@in(A, map<A, B>) -> bool": _in_map,
    **{
        f"{form} -> int": len
        for kind in ("string", "bytes", "list<A>", "map<A, B>")
        for form in (f"size({kind})", f"{kind} :: size()")
    },
}
