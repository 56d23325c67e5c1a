"""`==` by type, and reading typed values out of a document.

Where a schema declares the type of a value, the document's JSON is used as it is, unless its form
differs from CEL's (times, bytes, whole numbers that are doubles) or its order does not count.
"""

from __future__ import annotations

import base64
import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.functions.times import timestamp, worded_duration
from kapy.kube.cel.types import Type
from kapy.kube.cel.values import equal

Comparison: TypeAlias = Callable[[Any, Any], bool]
Reading: TypeAlias = Callable[[Any], Any]

_SCALARS: Final = frozenset(
    ("int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration")
)


def reading(one: Type) -> Reading | None:
    """How a value of the type is read from a document; None when it is used as it is.

    Objects are read field by field, when a field is asked for.
    """
    if one.name in _READINGS:
        return _READINGS[one.name]
    if one.name not in ("list", "map"):
        return None
    item = reading(one.item)
    if item is None:
        return None
    if one.name == "list":
        return lambda value: [item(inner) for inner in value]
    return lambda value: {key: item(inner) for key, inner in value.items()}


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _read_by(read: Reading) -> Reading:
    def converted(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except (EvaluationError, ValueError):
            return value  # the rule fails on its type, and says so

    return converted


_READINGS: Final[dict[str, Reading]] = {
    "double": _double,
    "timestamp": _read_by(timestamp),
    "duration": _read_by(worded_duration),
    "bytes": _read_by(base64.b64decode),
}


def comparison(one: Type, two: Type) -> Comparison:
    """The test whether two values of these types are equal."""
    if one.name == two.name and one.name in _SCALARS:
        return operator.eq
    if one.name == two.name and one.name == "object":
        return _of_declared(one)
    if one.name == two.name == "list" and one.list_type:
        return _of_declared(one)
    if one.name == two.name and one.name in ("list", "map") and _depends(one.item):
        return _of_declared(one)
    return equal


def _depends(one: Type) -> bool:
    """Whether equality of the type is not that of its JSON."""
    if one.name == "list":
        return one.list_type in ("set", "map") or _depends(one.item)
    if one.name == "map":
        return _depends(one.item)
    if one.name == "object":
        return any(_depends(inner.type) for inner in one.fields.values())
    return one.name in _READINGS and one.name != "double"


def _of_declared(one: Type) -> Comparison:
    """Of values that a schema declares."""
    if not _depends(one):
        return operator.eq
    if one.name == "list":
        return _of_lists(one)
    if one.name == "map":
        inner = _of_declared(one.item)
        return lambda a, b: a.keys() == b.keys() and all(inner(a[k], b[k]) for k in a)
    if one.name == "object":
        return _of_objects(one)
    read = _READINGS[one.name]
    return lambda a, b: bool(read(a) == read(b))


def _of_lists(one: Type) -> Comparison:
    inner = _of_declared(one.item)
    if one.list_type not in ("set", "map"):
        return lambda a, b: len(a) == len(b) and all(map(inner, a, b))
    return lambda a, b: (
        len(a) == len(b)
        and all(any(inner(x, y) for y in b) for x in a)
        and all(any(inner(x, y) for x in a) for y in b)
    )


def _of_objects(one: Type) -> Comparison:
    fields = {
        field.name: _of_declared(field.type)
        for field in one.fields.values()
        if _depends(field.type)
    }

    plain: Comparison = operator.eq

    def compare(a: Any, b: Any) -> bool:
        if a is b:
            return True
        if a is None or b is None or a.keys() != b.keys():
            return False
        return all(fields.get(key, plain)(inner, b[key]) for key, inner in a.items())

    return compare


def joined(one: Type) -> Callable[[list[Any], list[Any]], list[Any]]:
    """`+` of lists that a schema declares: a set keeps each item once, a map one for each key."""
    if one.list_type == "set":
        return lambda a, b: [*a, *(item for item in b if not any(equal(item, x) for x in a))]
    if one.list_type == "map":
        return lambda a, b: _merged(a, b, one.keys)
    return operator.add


def _merged(one: list[Any], two: list[Any], keys: tuple[str, ...]) -> list[Any]:
    def key(item: Any) -> tuple[Any, ...]:
        return tuple(item.get(name) for name in keys)

    return list({**{key(item): item for item in one}, **{key(item): item for item in two}}.values())
