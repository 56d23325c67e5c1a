"""Arithmetic, order, membership and size."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import KEYS, Duration, Timestamp, UInt, equal, kind_of

_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**63 - 1


def _int(compute: Callable[[int, int], int]) -> Function:
    def run(left: int, right: int) -> int:
        result = compute(left, right)
        if _MIN_INT <= result <= _MAX_INT:
            return result
        raise EvaluationError("integer overflow")

    return run


def _uint(compute: Callable[[int, int], int]) -> Function:
    def run(left: int, right: int) -> UInt:
        result = compute(int(left), int(right))
        if 0 <= result < 2**64:
            return UInt(result)
        raise EvaluationError("unsigned integer overflow")

    return run


def _time(kind: type[Timestamp] | type[Duration], compute: Callable[[int, int], int]) -> Function:
    def run(left: int, right: int) -> int:
        result = compute(int(left), int(right))
        if kind is Duration and not _MIN_INT <= result <= _MAX_INT:
            raise EvaluationError("integer overflow")
        return kind(result)

    return run


def _divide(left: int, right: int) -> int:
    """Divide and truncate toward zero, as in Go."""
    if right == 0:
        raise EvaluationError("division by zero")
    result = abs(left) // abs(right)
    return result if (left < 0) == (right < 0) else -result


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return (
        int(math.copysign(abs(left) % abs(right), left))
        if abs(left) < 2**52
        else _exact(left, right)
    )


def _exact(left: int, right: int) -> int:
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _quotient(left: float, right: float) -> float:
    if right == 0:
        return (
            math.nan if left == 0 or left != left else math.copysign(math.inf, left) * _sign(right)
        )
    return left / right


def _sign(number: float) -> float:
    return math.copysign(1.0, number)


def _in_list(value: Any, items: list[Any]) -> bool:
    if type(value) is str:
        return value in items
    return any(equal(value, item) for item in items)


def _in_map(value: Any, entries: dict[Any, Any]) -> bool:
    return kind_of(value) in KEYS and value in entries


def _negative(number: int) -> int:
    if number == _MIN_INT:
        raise EvaluationError("integer overflow")
    return -number


_NUMBERS: Final = ("int", "uint", "double")
_ORDERED: Final = (
    *((number, two) for number in _NUMBERS for two in _NUMBERS),
    *((item, item) for item in ("string", "bytes", "bool", "timestamp", "duration")),
)
_COMPARE: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

FUNCTIONS: Final[dict[str, Function]] = {
    **{
        f"_{sign}_({item}, {two}) -> bool": compare
        for sign, compare in _COMPARE.items()
        for item, two in _ORDERED
    },
    "_+_(int, int) -> int": _int(operator.add),
    "_-_(int, int) -> int": _int(operator.sub),
    "_*_(int, int) -> int": _int(operator.mul),
    "_/_(int, int) -> int": _int(_divide),
    "_%_(int, int) -> int": _int(_remainder),
    "_+_(uint, uint) -> uint": _uint(operator.add),
    "_-_(uint, uint) -> uint": _uint(operator.sub),
    "_*_(uint, uint) -> uint": _uint(operator.mul),
    "_/_(uint, uint) -> uint": _uint(_divide),
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
