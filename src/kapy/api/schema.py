"""Structs in, structural schemas out.

One definition per field: type, constraint and sentence stand in the Struct; the CRD, OpenAPI,
`kubectl explain` and the reference page are printed from it. Pure, and slow on purpose: it runs
when CRDs are printed, never when an object is read.

Types are for decoding, `rules(...)` are for the server: msgspec never checks a length or an enum.
A constraint on a whole object is the Struct's `SCHEMA`. A field with a default may still be
required on the wire: `rules(required=True)`. A field of a Struct that holds itself can have no
schema: `rules(schemaless=True)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Any, Final

import msgspec
from msgspec import inspect

from kapy.kube import Document

_ANYTHING: Final[Document] = {"x-kubernetes-preserve-unknown-fields": True}
_SCALARS: Final[Mapping[type, Document]] = {
    inspect.StrType: {"type": "string"},
    inspect.BoolType: {"type": "boolean"},
    inspect.IntType: {"type": "integer"},
    inspect.AnyType: _ANYTHING,
}
_INT_OR_STRING: Final[Document] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}

# Marks a field that is required on the wire, on its way from `rules` to its object's list.
_MANDATORY: Final = "mandatory"


def structural_schema(kind: type[msgspec.Struct]) -> Document:
    """The structural schema of one Struct, with every nested one inlined."""
    return structural_schemas([kind])[0]


def structural_schemas(kinds: Iterable[type[msgspec.Struct]]) -> list[Document]:
    """The structural schema of each Struct, with every nested one inlined."""
    return [_schema(info) for info in inspect.multi_type_info(kinds)]


def _schema(of: inspect.Type) -> Document:
    match of:
        case inspect.Metadata(type=inner, extra_json_schema=more):
            extra = dict(more or {})
            for encoding in ("zero", "form"):  # how it is encoded, which no schema says
                extra.pop(encoding, None)
            if extra.pop("schemaless", False):
                return _ANYTHING | extra
            mandatory = {_MANDATORY: True} if extra.pop("required", None) is True else {}
            return _schema(inner) | extra | mandatory
        case inspect.UnionType():
            return _union(of)
        case inspect.StructType():
            return _object(of)
        case inspect.ListType(item_type=item):
            return {"type": "array", "items": _schema(item)}
        case inspect.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _schema(value)}
        case _ if type(of) in _SCALARS:
            return dict(_SCALARS[type(of)])
        case _:
            raise TypeError(f"{of} has no structural schema")


def _union(of: inspect.UnionType) -> Document:
    """Kubernetes has no other unions than "or absent" and "number or text"."""
    present = [one for one in of.types if not isinstance(one, inspect.NoneType)]
    if len(present) == 1:
        return _schema(present[0])
    if {type(one) for one in present} == {inspect.IntType, inspect.StrType}:
        return dict(_INT_OR_STRING)
    raise TypeError(f"{of} has no structural schema")


def _object(of: inspect.StructType) -> Document:
    schema: Document = {"type": "object"}
    if of.cls.__doc__:
        schema["description"] = cleandoc(of.cls.__doc__)
    required = []
    properties: Document = {}
    for field in of.fields:
        properties[field.encode_name] = described = _schema(field.type)
        if described.pop(_MANDATORY, False) or field.required:
            required.append(field.encode_name)
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = sorted(required)
    return schema | _extra(of.cls)


def _extra(kind: Any) -> Document:
    extra: Document = getattr(kind, "SCHEMA", {})
    return extra
