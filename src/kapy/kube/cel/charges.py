"""What calls cost when they are run, by the size of their arguments, as in kube-apiserver.

Where Python has to work more than Go for a call (it copies a list to add to it), the call costs
more here. What a call would make is charged before it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

Charge: TypeAlias = Callable[..., int]

_MOST_NODES: Final = 100_000
_AUTHORIZATION: Final = 350_000
"""What asking an authorizer costs: two questions are all that an expression may have."""


def traversal(value: Any) -> int:
    """What going through a value costs: a tenth of all characters, and one for all else."""
    if isinstance(value, (str, bytes)):
        return len(value) // 10 + 1
    if not isinstance(value, (list, dict)):
        return 1
    total, rest = 0, [value]
    while rest and total < _MOST_NODES:
        one = rest.pop()
        if isinstance(one, (str, bytes)):
            total += len(one) // 10
        elif isinstance(one, dict):
            total += len(one)
            rest.extend(one.values())
        elif isinstance(one, list):
            total += len(one)
            rest.extend(one)
        total += 1
    return total


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes, list, dict)) else 1


def _first(*values: Any) -> int:
    return _size(values[0]) // 10 + 1


def _made(*values: Any) -> int:
    return _size(values[0]) // 5 + 1


def _replaced(text: Any, old: Any = "", new: Any = "", count: int = -1) -> int:
    if not (isinstance(text, str) and isinstance(old, str)):
        return 1
    found = text.count(old) if count < 0 else min(count, len(text) + 1)
    return (len(text) + found * _size(new)) // 5 + 1


def _joined(items: Any, separator: Any = "") -> int:
    if not isinstance(items, list):
        return 1
    return (sum(map(_size, items)) + _size(separator) * len(items)) // 5 + 1


def _formatted(text: Any, values: Any = ()) -> int:
    return _size(text) // 10 + traversal(values) + 1


def _regexp(text: Any, pattern: Any = "", *_: Any) -> int:
    try:
        return (len(text) // 10 + 1) * (len(pattern) // 4 + 1)
    except TypeError:
        return 1  # no texts: the call itself says so


def _within(text: Any, part: Any) -> int:
    return (_size(text) // 10 + 1) * (_size(part) // 10 + 1)


def _both(one: Any, two: Any) -> int:
    """Python copies both lists; Go only texts."""
    return (_size(one) + _size(two)) // 10 + 1


def _smaller(one: Any, two: Any) -> int:
    return min(_size(one), _size(two)) // 10 + 1


def _in(value: Any, items: Any) -> int:
    if isinstance(items, dict):
        return 1
    each = 1 if isinstance(value, str) else 3
    return _size(items) * max(each, traversal(value) // 10)


def _found(items: Any, value: Any = "", *_: Any) -> int:
    if isinstance(items, list):
        return _size(items) * max(1, traversal(value) // 10)
    return _within(items, value)


def _pairs(one: Any, two: Any) -> int:
    return _size(one) * _size(two) * max(1, traversal(one) // max(1, _size(one)) // 10)


def equality(one: Any, two: Any) -> int:
    """Of `==` where it is run often."""
    return min(traversal(one), traversal(two))


CHARGES: Final[dict[str, Charge]] = {
    **dict.fromkeys(("matches", "find", "findAll"), _regexp),
    **dict.fromkeys(("isSorted", "sum", "min", "max"), lambda items: traversal(items)),
    **dict.fromkeys(("indexOf", "lastIndexOf"), _found),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _smaller),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _pairs),
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
    "_+_": _both,
    "check": lambda *_: _AUTHORIZATION,
    "@in": _in,
    "contains": _within,
    "format": _formatted,
    "join": _joined,
    "replace": _replaced,
    "split": _made,
}
"""By the name of a function; what is not here costs one."""
