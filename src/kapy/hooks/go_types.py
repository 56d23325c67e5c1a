"""The fields of a Model as Go declares them, as far as JSON decoding depends on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from pkgutil import resolve_name
from types import GenericAlias
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo, fields

from kapy.kube.model import Model, bare_type

SCALARS: Final = {str: "string", bool: "bool", int: "int"}
_FOLDED: Final = str.maketrans({"\u017f": "s", "\u212a": "k"})
"""The characters outside of ASCII that Go takes for letters of ASCII in another case."""


class Form(Enum):
    """The form of a Go type."""

    STRUCT = auto()
    SLICE = auto()
    MAP = auto()
    BYTES = auto()
    RAW = auto()
    SCALAR = auto()


@dataclass(frozen=True, slots=True)
class GoType:
    """A Go type. name: the Go name of a scalar. bits: the size of an integer. python: the Python
    type, which is the Model of a struct. element: the element type of a slice or a map.
    """

    form: Form
    python: Any
    name: str = ""
    bits: int = 0
    element: GoType | None = None

    def zero(self) -> Any:
        """Return the JSON value of Go's zero value."""
        if self.form in (Form.BYTES, Form.RAW):
            return None
        return {} if self.form is Form.STRUCT else self.python()


class Member(NamedTuple):
    """A field of a struct.

    is_nullable: whether `null` clears it. is_written: whether Go writes its zero value, since the
    Model has no default or another one. is_omitted: whether Go omits its zero value.
    """

    name: str
    type: GoType
    is_nullable: bool
    is_written: bool
    is_omitted: bool


class Struct(NamedTuple):
    """The fields of a Model by name, and by the name as Go folds its case."""

    exact: dict[str, Member]
    folded: dict[str, Member]

    def member(self, key: str) -> Member | None:
        """Return the field that a key of an object refers to."""
        return self.exact.get(key) or self.folded.get(_fold(key))


@cache
def struct_of(kind: type[Model]) -> Struct:
    """Return the Go struct of a Model."""
    exact = {field.encode_name: _member(field) for field in fields(kind)}
    return Struct(exact, {_fold(name): member for name, member in exact.items()})


def _fold(key: str) -> str:
    """Return a key as Go compares it with field names; "" if no field can have that name."""
    key = key if key.isascii() else key.translate(_FOLDED)
    return key.upper() if key.isascii() else ""


def _member(info: FieldInfo) -> Member:
    extra = _extra(info.type)
    bits = 64 if extra.get("format") == "int64" else 32
    zero = extra.get("zero")
    return Member(
        name=info.encode_name,
        type=_type(_resolve_hint(info.type, extra.get("of", "")), bits),
        # A field with zero="kept" is a pointer in Go, although it is never None here. A field with
        # zero="omitted" is no pointer, although it may be None here.
        is_nullable=zero == "kept" or (zero != "omitted" and _is_nullable(info.type)),
        is_written=info.required or _default(info) not in (None, "", 0),
        is_omitted=zero == "omitted",
    )


def _type(hint: Any, bits: int) -> GoType:
    hint = bare_type(hint)
    if get_origin(hint) is list:
        return GoType(Form.SLICE, list, element=_type(get_args(hint)[0], bits))
    if get_origin(hint) is dict:
        return GoType(Form.MAP, dict, element=_type(get_args(hint)[1], bits))
    if hint is bytes:
        return GoType(Form.BYTES, bytes)
    if hint is Any:
        return GoType(Form.RAW, object)
    if hint in SCALARS:
        return GoType(Form.SCALAR, hint, SCALARS[hint] + (str(bits) if hint is int else ""), bits)
    if isinstance(hint, type) and issubclass(hint, Model):
        return GoType(Form.STRUCT, hint)
    raise TypeError(f"{hint} is no type that a response of a hook can have")


def _extra(hint: Any) -> dict[str, Any]:
    if get_origin(hint) is not Annotated:
        return {}
    metas = (arg for arg in get_args(hint) if isinstance(arg, msgspec.Meta))
    return {key: value for meta in metas for key, value in (meta.extra_json_schema or {}).items()}


def _resolve_hint(hint: Any, of: str) -> Any:
    """Return the type of a field whose documents have a Model that is named and not imported."""
    if ":" not in of:
        return hint
    name: Any = resolve_name(of)
    return GenericAlias(list, (name,)) if get_origin(bare_type(hint)) is list else name


def _is_nullable(hint: Any) -> bool:
    """Return whether a type is a pointer, a slice, a map or any value."""
    if get_origin(hint) is Annotated:
        return _is_nullable(get_args(hint)[0])
    return hint in (Any, bytes) or hint is not bare_type(hint) or get_origin(hint) in (list, dict)


def _default(info: FieldInfo) -> Any:
    """Return the default of a scalar."""
    if bare_type(info.type) not in SCALARS:
        return None
    return info.default if info.default_factory is msgspec.NODEFAULT else info.default_factory()
