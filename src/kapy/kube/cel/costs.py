"""The cost of a call: its maximum, before an expression runs, and the actual cost at run time.

The maximum is in the unit of kube-apiserver's (cel-go's) estimates. The actual cost depends on the
size of the arguments, as in kube-apiserver. A call costs more here where Python does more work than
Go, such as copying a list to add to it. The cost of a result is charged before the result is
created.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, Final, TypeAlias

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

Charge: TypeAlias = Callable[..., int]
_MAX_NODES: Final = 100_000
_AUTHORIZATION: Final = 350_000
"""The cost of asking an authorizer: an expression can pay for two questions."""


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


def traversal(value: Any) -> int:
    """Return the cost of traversing a value: a tenth of its characters, and 1 for each
    other value.
    """
    if isinstance(value, (str, bytes)):
        return len(value) // 10 + 1
    if not isinstance(value, (list, dict)):
        return 1
    total, rest = 0, [value]
    while rest and total < _MAX_NODES:
        item = rest.pop()
        if isinstance(item, (str, bytes)):
            total += len(item) // 10
        elif isinstance(item, dict):
            total += len(item)
            rest.extend(item.values())
        elif isinstance(item, list):
            total += len(item)
            rest.extend(item)
        total += 1
    return total


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes, list, dict)) else 1


def _first(*values: Any) -> int:
    return _size(values[0]) // 10 + 1


def _created_size(*values: Any) -> int:
    return _size(values[0]) // 5 + 1


def _replace_cost(text: Any, old: Any = "", new: Any = "", count: int = -1) -> int:
    if not (isinstance(text, str) and isinstance(old, str)):
        return 1
    result = text.count(old) if count < 0 else min(count, len(text) + 1)
    return (len(text) + result * _size(new)) // 5 + 1


def _join_cost(items: Any, separator: Any = "") -> int:
    if not isinstance(items, list):
        return 1
    return (sum(map(_size, items)) + _size(separator) * len(items)) // 5 + 1


def _format_cost(text: Any, values: Any = ()) -> int:
    return _size(text) // 10 + traversal(values) + 1


def _regexp(text: Any, pattern: Any = "", *_: Any) -> int:
    try:
        return (len(text) // 10 + 1) * (len(pattern) // 4 + 1)
    except TypeError:
        return 1  # not texts: the call itself reports that


def _within(text: Any, part: Any) -> int:
    return (_size(text) // 10 + 1) * (_size(part) // 10 + 1)


def _sum_of_sizes(left: Any, right: Any) -> int:
    """Return the cost of `+`: Python copies both operands if they are lists; Go copies only
    strings.
    """
    return (_size(left) + _size(right)) // 10 + 1


def _smaller(left: Any, right: Any) -> int:
    return min(_size(left), _size(right)) // 10 + 1


def _in(value: Any, items: Any) -> int:
    if isinstance(items, dict):
        return 1
    unit = 1 if isinstance(value, str) else 3
    return _size(items) * max(unit, traversal(value) // 10)


def _searched_size(items: Any, value: Any = "", *_: Any) -> int:
    if isinstance(items, list):
        return _size(items) * max(1, traversal(value) // 10)
    return _within(items, value)


def _pair_charge(left: Any, right: Any) -> int:
    return _size(left) * _size(right) * max(1, traversal(left) // max(1, _size(left)) // 10)


def equality(left: Any, right: Any) -> int:
    """Return the cost of `==` inside loops."""
    return min(traversal(left), traversal(right))


CHARGES: Final[dict[str, Charge]] = {
    **dict.fromkeys(("matches", "find", "findAll"), _regexp),
    **dict.fromkeys(("isSorted", "sum", "min", "max"), lambda items: traversal(items)),
    **dict.fromkeys(("indexOf", "lastIndexOf"), _searched_size),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _smaller),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _pair_charge),
    **dict.fromkeys(
        (
            *("url", "isURL", "cidr", "isCIDR", "ip", "isIP", "string"),
            *("quantity", "isQuantity", "semver", "isSemver", "validate", "ip.isCanonical"),
            *("lowerAscii", "upperAscii", "substring", "trim", "charAt", "reverse", "bytes"),
            *("containsIP", "containsCIDR", "strings.quote", "int", "uint", "double", "duration"),
            *("timestamp",),
        ),
        _first,
    ),
    "_+_": _sum_of_sizes,
    "check": lambda *_: _AUTHORIZATION,
    "@in": _in,
    "contains": _within,
    "format": _format_cost,
    "join": _join_cost,
    "replace": _replace_cost,
    "split": _created_size,
}
"""The cost of a call by the name of the function. A call of any other function costs one."""
