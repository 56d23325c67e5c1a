"""CEL functions of Kubernetes' list library."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any, Final

from kapy.kube.cel.errors import EvaluationError, no_such_overload
from kapy.kube.cel.functions import operators
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import Duration, UInt, equal, kind_of

_ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: Final[dict[str, Any]] = {
    "int": 0,
    "uint": UInt(0),
    "double": 0.0,
    "duration": Duration(0),
}


def _is_sorted(items: list[Any]) -> bool:
    return all(item <= two for item, two in pairwise(items))


def _sum(kind: str) -> Function:
    add = operators.FUNCTIONS[f"_+_({kind}, {kind}) -> {kind}"]
    zero = _ZEROS[kind]
    return lambda items: reduce(add, items, zero)


def _extreme(name: str, choose: Callable[[list[Any]], Any]) -> Function:
    def run(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        if len({kind_of(item) for item in items}) > 1:
            raise no_such_overload()
        return choose(items)

    return run


def _index_of(items: list[Any], value: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, value)), -1)


def _last_index_of(items: list[Any], value: Any) -> int:
    last = len(items) - 1
    return next((last - back for back, item in enumerate(items[::-1]) if equal(item, value)), -1)


FUNCTIONS: Final[dict[str, Function]] = {
    **{f"list<{kind}> :: isSorted() -> bool": _is_sorted for kind in _ORDERED},
    **{f"list<{kind}> :: sum() -> {kind}": _sum(kind) for kind in _ZEROS},
    **{f"list<{kind}> :: min() -> {kind}": _extreme("min", min) for kind in _ORDERED},
    **{f"list<{kind}> :: max() -> {kind}": _extreme("max", max) for kind in _ORDERED},
    "list<A> :: indexOf(A) -> int": _index_of,
    "list<A> :: lastIndexOf(A) -> int": _last_index_of,
}
