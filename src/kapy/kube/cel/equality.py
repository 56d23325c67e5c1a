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


def reading(type_: Type) -> Reading | None:
    """Return the function that converts a document's value to CEL's form; None if the value is used
    unchanged.

    Objects are not converted here: each field is converted when it is read.
    """
    if type_.name in _READINGS:
        return _READINGS[type_.name]
    if type_.name not in ("list", "map"):
        return None
    item = reading(type_.item)
    if item is None:
        return None
    if type_.name == "list":
        return lambda value: [item(inner) for inner in value]
    return lambda value: {key: item(inner) for key, inner in value.items()}


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _read_with(read: Reading) -> Reading:
    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except (EvaluationError, ValueError):
            return value  # the rule fails because of the type and reports it

    return convert


_READINGS: Final[dict[str, Reading]] = {
    "double": _double,
    "timestamp": _read_with(timestamp),
    "duration": _read_with(worded_duration),
    "bytes": _read_with(base64.b64decode),
}


def comparison(type_: Type, two: Type) -> Comparison:
    """Return the function that compares two values of these types."""
    if type_.name == two.name and type_.name in _SCALARS:
        return operator.eq
    if type_.name == two.name and type_.name == "object":
        return _compare_declared(type_)
    if type_.name == two.name == "list" and type_.list_type:
        return _compare_declared(type_)
    if (
        type_.name == two.name
        and type_.name in ("list", "map")
        and _needs_typed_equality(type_.item)
    ):
        return _compare_declared(type_)
    return equal


def _needs_typed_equality(type_: Type) -> bool:
    """Return whether values of the type need a typed comparison instead of a comparison of their
    JSON.
    """
    if type_.name == "list":
        return type_.list_type in ("set", "map") or _needs_typed_equality(type_.item)
    if type_.name == "map":
        return _needs_typed_equality(type_.item)
    if type_.name == "object":
        return any(_needs_typed_equality(inner.type) for inner in type_.fields.values())
    return type_.name in _READINGS and type_.name != "double"


def _compare_declared(type_: Type) -> Comparison:
    """Return the comparison for a type that a schema declares."""
    if not _needs_typed_equality(type_):
        return operator.eq
    if type_.name == "list":
        return _compare_lists(type_)
    if type_.name == "map":
        inner = _compare_declared(type_.item)
        return lambda a, b: a.keys() == b.keys() and all(inner(a[k], b[k]) for k in a)
    if type_.name == "object":
        return _compare_objects(type_)
    read = _READINGS[type_.name]
    return lambda a, b: bool(read(a) == read(b))


def _compare_lists(type_: Type) -> Comparison:
    inner = _compare_declared(type_.item)
    if type_.list_type not in ("set", "map"):
        return lambda a, b: len(a) == len(b) and all(map(inner, a, b))
    return lambda a, b: (
        len(a) == len(b)
        and all(any(inner(x, y) for y in b) for x in a)
        and all(any(inner(x, y) for x in a) for y in b)
    )


def _compare_objects(type_: Type) -> Comparison:
    fields = {
        field.name: _compare_declared(field.type)
        for field in type_.fields.values()
        if _needs_typed_equality(field.type)
    }

    plain: Comparison = operator.eq

    def compare(a: Any, b: Any) -> bool:
        if a is b:
            return True
        if a is None or b is None or a.keys() != b.keys():
            return False
        return all(fields.get(key, plain)(inner, b[key]) for key, inner in a.items())

    return compare


def concatenation(type_: Type) -> Callable[[list[Any], list[Any]], list[Any]]:
    """Return the function for `+` of lists: a list of type set keeps each item once, one of type
    map one item per key.
    """
    if type_.list_type == "set":
        return lambda a, b: [*a, *(item for item in b if not any(equal(item, x) for x in a))]
    if type_.list_type == "map":
        return lambda a, b: _merge_by_keys(a, b, type_.keys)
    return operator.add


def _merge_by_keys(left: list[Any], right: list[Any], keys: tuple[str, ...]) -> list[Any]:
    def key(item: Any) -> tuple[Any, ...]:
        return tuple(item.get(name) for name in keys)

    return list(
        {**{key(item): item for item in left}, **{key(item): item for item in right}}.values()
    )
