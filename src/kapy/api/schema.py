"""Structs in, structural schemas out.

One definition per field: type, constraint and sentence stand in the Struct; the CRD, OpenAPI,
`kubectl explain` and the reference page are printed from it. Pure, and slow on purpose: it runs
when CRDs are printed, never when an object is read.

Types are for decoding, `rules(...)` are for the server: msgspec never checks a length or an enum.
A constraint on a whole object is the Struct's `SCHEMA`. A field with a default may still be
required on the wire: `rules(required=True)`. A field of a Struct that holds itself can have no
schema: `rules(schemaless=True)`. Descriptions of older versions and templates are inherited
(`kapy.api.descriptions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from kapy.api.descriptions import SAME_AS, Descriptions, extra_schema
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
    """Return the structural schema of one Struct, with every nested one inlined."""
    return structural_schemas([kind])[0]


def structural_schemas(
    kinds: Iterable[type[msgspec.Struct]], descriptions: Descriptions | None = None
) -> list[Document]:
    """Return the structural schema of each Struct, with every nested one inlined. descriptions: the
    descriptions of the newest versions, for Structs that inherit them.
    """
    kinds = list(kinds)
    printer = _Printer(descriptions or Descriptions(kinds))
    return [printer.schema(info) for info in inspect.multi_type_info(kinds)]


class _Printer:
    """A converter of types to structural schemas. descriptions: the descriptions of Structs and
    their fields.
    """

    def __init__(self, descriptions: Descriptions) -> None:
        self._descriptions = descriptions

    def schema(self, of: inspect.Type) -> Document:
        match of:
            case inspect.Metadata(type=inner, extra_json_schema=more):
                extra = dict(more or {})
                for other in ("zero", "form", SAME_AS):  # not a part of schemas
                    extra.pop(other, None)
                if extra.pop("schemaless", False):
                    return _ANYTHING | extra
                mandatory = {_MANDATORY: True} if extra.pop("required", None) is True else {}
                return self.schema(inner) | extra | mandatory
            case inspect.UnionType():
                return self._union(of)
            case inspect.StructType():
                return self._object(of)
            case inspect.ListType(item_type=item):
                return {"type": "array", "items": self.schema(item)}
            case inspect.DictType(value_type=value):
                return {"type": "object", "additionalProperties": self.schema(value)}
            case _ if type(of) in _SCALARS:
                return dict(_SCALARS[type(of)])
            case _:
                raise TypeError(f"{of} has no structural schema")

    def _union(self, of: inspect.UnionType) -> Document:
        """Return the schema of a union: Kubernetes has only "or absent" and "number or text"."""
        present = [item for item in of.types if not isinstance(item, inspect.NoneType)]
        if len(present) == 1:
            return self.schema(present[0])
        if {type(item) for item in present} == {inspect.IntType, inspect.StrType}:
            return dict(_INT_OR_STRING)
        raise TypeError(f"{of} has no structural schema")

    def _object(self, of: inspect.StructType) -> Document:
        schema: Document = {"type": "object"}
        if text := self._descriptions.of_type(of.cls):
            schema["description"] = text
        required = []
        properties: Document = {}
        for field in of.fields:
            name = field.encode_name
            properties[name] = described = self.schema(field.type)
            extra = extra_schema(field.type)
            if text := self._descriptions.of_field(of.cls.__name__, name, extra):
                described["description"] = text
            if described.pop(_MANDATORY, False) or field.required:
                required.append(name)
        if properties:
            schema["properties"] = properties
        if required:
            schema["required"] = sorted(required)
        return schema | _extra(of.cls)


def _extra(kind: Any) -> Document:
    extra: Document = getattr(kind, "SCHEMA", {})
    return extra
