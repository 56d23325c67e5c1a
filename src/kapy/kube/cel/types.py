"""The types that expressions are checked with, and how they are written in messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """One type.

    name: `int`, `list`, `object` …; a capital letter is a type parameter. parameters: of list, map,
    optional_type and type. fields: of an object, by their escaped names. required: fields that are
    always there. most: the most characters, items or entries; least: the bytes that the smallest
    value takes as JSON; both only matter for cost. list_type: `set` or `map`, with its keys.
    """

    name: str
    parameters: tuple[Type, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)
    most: int | None = None
    least: int = 1
    list_type: str = ""
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = _SHOWN.get(self.name, self.name)
        if not self.parameters:
            return name
        return f"{name}({', '.join(map(str, self.parameters))})"

    @property
    def item(self) -> Type:
        """Of a list its items, of a map its values, of an optional what it holds."""
        return self.parameters[-1]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object. name: as the document has it."""

    name: str
    type: Type


_SHOWN: Final = {"null_type": "null", "map_entry": "map"}

DYN: Final = Type("dyn")
BOOL: Final = Type("bool", least=4)
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string", least=2)
BYTES: Final = Type("bytes", least=2)
NULL: Final = Type("null_type")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")

SCALARS: Final = {
    one.name: one
    for one in (DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION)
}
_NULLABLE: Final = frozenset(("object", "timestamp", "duration", "optional_type"))


def list_of(item: Type, most: int | None = None) -> Type:
    """A list."""
    return Type("list", (item,), most=most)


def map_of(key: Type, value: Type, most: int | None = None) -> Type:
    """A map."""
    return Type("map", (key, value), most=most)


def optional_of(inner: Type) -> Type:
    """An optional value."""
    return Type("optional_type", (inner,))


def type_of(inner: Type) -> Type:
    """The type of a type."""
    return Type("type", (inner,))


Bindings = dict[str, Type]
"""What type parameters stand for, by name."""


def is_parameter(one: Type) -> bool:
    """Whether it is a type parameter."""
    return len(one.name) == 1


def accepts(wanted: Type, given: Type, bindings: Bindings) -> bool:
    """Whether a value of type `given` may stand where `wanted` is; binds type parameters."""
    if is_parameter(wanted):
        bound = bindings.get(wanted.name)
        if bound is None or (bound.name in ("dyn", "null_type") and given.name != "null_type"):
            bindings[wanted.name] = given
            return bound is None or accepts(given, bound, bindings)
        return accepts(bound, given, bindings)
    if wanted is given or wanted.name == "dyn" or given.name == "dyn":
        return True
    if given.name == "null_type" and (wanted.name in _NULLABLE or "." in wanted.name):
        return True
    if wanted.name != given.name:
        return False
    if wanted.name == "object":
        return _same_fields(wanted, given)
    if wanted.name == "type":
        return True
    return all(
        accepts(one, two, bindings)
        for one, two in zip(wanted.parameters, given.parameters, strict=True)
    )


def _same_fields(one: Type, two: Type) -> bool:
    return one.fields.keys() == two.fields.keys() and all(
        accepts(inner.type, two.fields[name].type, {}) for name, inner in one.fields.items()
    )


def bound(one: Type, bindings: Bindings) -> Type:
    """The type with its parameters replaced; what stands for nothing is dyn."""
    if is_parameter(one):
        return bindings.get(one.name, DYN)
    if not one.parameters:
        return one
    parameters = tuple(bound(inner, bindings) for inner in one.parameters)
    return Type(one.name, parameters, most=one.most)


def has_dyn(one: Type) -> bool:
    """Whether values of the type are known only when they are there."""
    return one.name == "dyn" or is_parameter(one)
