"""The maximum cost of a call, in the unit of kube-apiserver's (cel-go's) estimates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final

from kapy.kube.cel.terms import UNBOUNDED, Term, bound_cost

_TRAVERSAL: Final = 0.1
_REGEX: Final = 0.25
_SIZED: Final = frozenset(("string", "bytes", "list", "map"))
_WALKS: Final = frozenset(
    (
        "_<_",
        "_<=_",
        "_>_",
        "_>=_",
        "charAt",
        "cidr",
        "format",
        "ip",
        "isCIDR",
        "isIP",
        "isQuantity",
        "isSemver",
        "isURL",
        "join",
        "lowerAscii",
        "quantity",
        "replace",
        "semver",
        "split",
        "string",
        "substring",
        "trim",
        "upperAscii",
        "url",
        "validate",
    )
)


def _times(size: int, factor: float) -> int:
    return size if size >= UNBOUNDED else ceil(size * factor)


def call_cost(name: str, terms: Sequence[Term]) -> int:
    """Return the maximum cost of a call, without the cost of its arguments."""
    special = _COSTS.get(name)
    if special is not None:
        return max(1, bound_cost(special(terms)))
    if name in _WALKS:
        sizes = [term.max_size for term in terms if term.type.name in _SIZED]
        return max(1, _times(max(sizes), _TRAVERSAL)) if sizes else 1
    return 1


def _regex(terms: Sequence[Term]) -> int:
    return _times(terms[0].max_size + 1, _TRAVERSAL) * _times(terms[1].max_size, _REGEX)


def _contains(terms: Sequence[Term]) -> int:
    return _times(terms[0].max_size, _TRAVERSAL) * _times(terms[1].max_size, _TRAVERSAL)


def _sum(terms: Sequence[Term]) -> int:
    texts = [term for term in terms if term.type.name in ("string", "bytes")]
    return sum(_times(term.max_size, _TRAVERSAL) for term in texts)


def _affix(terms: Sequence[Term]) -> int:
    return _times(terms[1].max_size, _TRAVERSAL)


def _items(terms: Sequence[Term]) -> int:
    return terms[-1].max_size if terms[-1].type.name == "list" else 1


def _search(terms: Sequence[Term]) -> int:
    factor = 1 if terms[0].type.name == "list" else _TRAVERSAL
    return _times(terms[0].max_size, factor)


def _pairs(terms: Sequence[Term]) -> int:
    return terms[0].max_size * terms[1].max_size


def _equality(terms: Sequence[Term]) -> int:
    sizes = [term.max_size for term in terms if term.type.name in _SIZED]
    return max(1, _times(min(sizes), _TRAVERSAL)) if sizes else 1


_COSTS: Final[dict[str, Callable[[Sequence[Term]], int]]] = {
    **dict.fromkeys(("matches", "find", "findAll"), _regex),
    **dict.fromkeys(("startsWith", "endsWith"), _affix),
    **dict.fromkeys(("@in", "isSorted", "sum", "min", "max"), _items),
    **dict.fromkeys(("indexOf", "lastIndexOf"), _search),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _pairs),
    "_==_": _equality,
    "_+_": _sum,
    "contains": _contains,
    "check": lambda _: 350_000,
}


def call_size(name: str, terms: Sequence[Term]) -> int | None:
    """Return the maximum number of characters or items in the result of a call; None if there is no
    limit.
    """
    sizes = [term.type.max_size for term in terms if term.type.name in _SIZED]
    bounds = [size for size in sizes if size is not None]
    if not sizes or len(bounds) < len(sizes):
        return None
    if name == "replace" and len(bounds) > 2:
        return bound_cost(bounds[0] * max(1, bounds[2]))
    return bound_cost(sum(bounds))
