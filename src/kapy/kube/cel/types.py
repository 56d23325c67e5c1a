"""The types used to check expressions, and their names in messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """A type of CEL values.

    name: `int`, `list`, `object` …; a capital letter is a type parameter. parameters: the
    parameters of list, map, optional_type and type. fields: the fields of an object type, by their
    escaped names. max_size: the maximum number of characters, items or entries; min_size: the bytes
    that the smallest value takes as JSON; both only matter for cost. list_type: `set` or `map`,
    with its keys.
    """

    name: str
    parameters: tuple[Type, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)
    max_size: int | None = None
    min_size: int = 1
    list_type: str = ""
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = _DISPLAY_NAMES.get(self.name, self.name)
        if not self.parameters:
            return name
        return f"{name}({', '.join(map(str, self.parameters))})"

    @property
    def item(self) -> Type:
        """The type of a list's items, of a map's values, or of an optional's value."""
        return self.parameters[-1]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object type. name: its key in the document."""

    name: str
    type: Type


_DISPLAY_NAMES: Final = {"null_type": "null", "map_entry": "map"}

DYN: Final = Type("dyn")
BOOL: Final = Type("bool", min_size=4)
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string", min_size=2)
BYTES: Final = Type("bytes", min_size=2)
NULL: Final = Type("null_type")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")

SCALARS: Final = {
    kind.name: kind
    for kind in (DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION)
}
_NULLABLE: Final = frozenset(("object", "timestamp", "duration", "optional_type"))


def list_of(item: Type, limit: int | None = None) -> Type:
    """Return the type of a list. limit: the maximum number of items."""
    return Type("list", (item,), max_size=limit)


def map_of(key: Type, value: Type, limit: int | None = None) -> Type:
    """Return the type of a map. limit: the maximum number of entries."""
    return Type("map", (key, value), max_size=limit)


def optional_of(inner: Type) -> Type:
    """Return the type of an optional value."""
    return Type("optional_type", (inner,))


def type_of(inner: Type) -> Type:
    """Return the type of a value that is itself a type (`type(x)`). inner: that type."""
    return Type("type", (inner,))


Bindings = dict[str, Type]
"""The types that type parameters stand for, by name."""


def is_parameter(type_: Type) -> bool:
    """Return whether a type is a type parameter, such as `A` in `list(A)`."""
    return len(type_.name) == 1


def accepts(expected: Type, actual: Type, bindings: Bindings) -> bool:
    """Return whether a value of type `actual` can be used where `expected` is required.

    It adds the type parameters that it resolves to `bindings`.
    """
    if is_parameter(expected):
        bound = bindings.get(expected.name)
        if bound is None or (bound.name in ("dyn", "null_type") and actual.name != "null_type"):
            bindings[expected.name] = actual
            return bound is None or accepts(actual, bound, bindings)
        return accepts(bound, actual, bindings)
    if expected is actual or expected.name == "dyn" or actual.name == "dyn":
        return True
    if actual.name == "null_type" and (expected.name in _NULLABLE or "." in expected.name):
        return True
    if expected.name != actual.name:
        return False
    if expected.name == "object":
        return _same_fields(expected, actual)
    if expected.name == "type":
        return True
    return all(
        accepts(parameter, two, bindings)
        for parameter, two in zip(expected.parameters, actual.parameters, strict=True)
    )


def _same_fields(left: Type, right: Type) -> bool:
    return left.fields.keys() == right.fields.keys() and all(
        accepts(inner.type, right.fields[name].type, {}) for name, inner in left.fields.items()
    )


def substitute(type_: Type, bindings: Bindings) -> Type:
    """Return the type with its type parameters replaced; unbound ones become dyn."""
    if is_parameter(type_):
        return bindings.get(type_.name, DYN)
    if not type_.parameters:
        return type_
    parameters = tuple(substitute(inner, bindings) for inner in type_.parameters)
    return Type(type_.name, parameters, max_size=type_.max_size)


def has_dyn(type_: Type) -> bool:
    """Return whether the types of values are only known at run time."""
    return type_.name == "dyn" or is_parameter(type_)
