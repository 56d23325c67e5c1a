"""Optional values; `optMap` and `optFlatMap` are macros."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import NONE, Optional, kind_of, some


def _non_zero(value: Any) -> Optional:
    if value is None or value == 0 or kind_of(value) in ("list", "map", "string", "bytes"):
        return some(value) if value else NONE
    return some(value)


def _first(items: list[Any]) -> Optional:
    return some(items[0]) if items else NONE


def _last(items: list[Any]) -> Optional:
    return some(items[-1]) if items else NONE


def _values(items: list[Optional]) -> list[Any]:
    return [optional.inner for optional in items if optional.present]


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.inner


FUNCTIONS: Final[dict[str, Function]] = {
    "optional.of(A) -> optional<A>": some,
    "optional.none() -> optional<A>": lambda: NONE,
    "optional.ofNonZeroValue(A) -> optional<A>": _non_zero,
    "optional.unwrap(list<optional<A>>) -> list<A>": _values,
    "list<optional<A>> :: unwrapOpt() -> list<A>": _values,
    "optional<A> :: hasValue() -> bool": lambda value: value.present,
    "optional<A> :: value() -> A": _value,
    "optional<A> :: or(optional<A>) -> optional<A>": lambda value, two: (
        value if value.present else two
    ),
    "optional<A> :: orValue(A) -> A": lambda value, other: value.inner if value.present else other,
    "list<A> :: first() -> optional<A>": _first,
    "list<A> :: last() -> optional<A>": _last,
}
