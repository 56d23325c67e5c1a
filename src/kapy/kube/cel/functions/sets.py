"""CEL functions of cel-go's set library, which uses lists as sets."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import equal


def _has(items: list[Any], value: Any) -> bool:
    return any(equal(item, value) for item in items)


def _contains(items: list[Any], subset: list[Any]) -> bool:
    return all(_has(items, item) for item in subset)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(_has(left, value) for value in right)


FUNCTIONS: Final[dict[str, Function]] = {
    "sets.contains(list<A>, list<A>) -> bool": _contains,
    "sets.equivalent(list<A>, list<A>) -> bool": _equivalent,
    "sets.intersects(list<A>, list<A>) -> bool": _intersects,
}
