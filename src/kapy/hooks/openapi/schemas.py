"""Convert Structs into components of OpenAPI.

It follows the particularities of Go's generator: a field that is always written has its zero value
as default, as has a nested object that is no pointer; constraints of kapy's kinds are omitted.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

from msgspec import Struct, inspect

from kapy.api.descriptions import descriptions
from kapy.hooks.messages.content import RAW_OBJECT, RAW_VALUE
from kapy.hooks.openapi.components import (
    INT_OR_STRING,
    JSON,
    RAW_EXTENSION,
    TIME,
    is_of_kubernetes,
    is_of_object,
    part_component,
    reference,
)
from kapy.hooks.openapi.machinery import MACHINERY, NEEDED_BY
from kapy.kube import Document
from kapy.kube.meta import Object

_PRINTED: Final = ("format", "default", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
_OBJECTS_IN_GO: Final = ("ClusterNetwork.pods", "ClusterNetwork.services")
_UNMARKED_IN_GO: Final = ("MachineStatus.addresses",)
_RAW: Final = {RAW_OBJECT: RAW_EXTENSION, RAW_VALUE: JSON}
_TYPE_META: Final[Document] = {
    "apiVersion": {
        "type": "string",
        "description": "apiVersion is the API group and version of the object.",
    },
    "kind": {"type": "string", "description": "kind is the kind of the object."},
}


class _Field(NamedTuple):
    """A field of a component: its type without annotations."""

    parent: str
    name: str
    type: inspect.Type
    rules: Document
    required: bool
    optional: bool
    written: bool

    @property
    def is_of_message(self) -> bool:
        """Whether it belongs to a message, and not to an object in a message."""
        return not is_of_object(self.parent)

    @property
    def place(self) -> str:
        return f"{self.parent.rpartition('.')[2]}.{self.name}"


class Schemas:
    """The requested components and all components that they refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Document] = {}

    def add(self, component: str, kind: type[Struct]) -> None:
        """Add the schema of a Struct under a name, and the schemas of the Structs in it."""
        if component in self.components:
            return
        if component in MACHINERY:
            self._add_machinery(component)
            return
        schema: Document = {"type": "object"}
        self.components[component] = schema
        if text := descriptions().of_type(kind):
            schema["description"] = text
        properties = dict(_TYPE_META) if issubclass(kind, Object) else {}
        required = []
        for field in _fields(component, kind):
            properties[field.name] = self._property(field, kind.__name__)
            if field.required:
                required.append(field.name)
        if properties:
            schema["properties"] = properties
        if required:
            schema["required"] = required
        marks: Document = getattr(kind, "SCHEMA", {})
        schema |= {key: value for key, value in marks.items() if key.startswith("x-")}

    def _add_machinery(self, component: str) -> None:
        if component not in self.components:
            self.components[component] = MACHINERY[component]
            for item in NEEDED_BY.get(component, ()):
                self._add_machinery(item)

    def _property(self, field: _Field, struct: str) -> Document:
        text = descriptions().of_field(struct, field.name, field.rules)
        words = {"description": text} if text else {}
        printed: Document = {key: field.rules[key] for key in _PRINTED if key in field.rules}
        if field.is_of_message and "enum" in field.rules:
            printed["enum"] = field.rules["enum"]
        if field.place in _UNMARKED_IN_GO:
            printed.pop("x-kubernetes-list-type")
        result = self._field_schema(field, field.type)
        if "$ref" in result:
            printed.pop("format", None)
            if self._has_zero(field):
                result["default"] = {}
        elif field.written:
            result["default"] = "" if result["type"] == "string" else 0
        return words | printed | result

    def _has_zero(self, field: _Field) -> bool:
        """Return whether the field is a struct in Go (its zero value is encoded), not a pointer."""
        if field.rules.get("of") in _RAW or not isinstance(
            field.type, inspect.StructType | inspect.DictType
        ):
            return False
        omitted = field.rules.get("zero") == "omitted" or field.place in _OBJECTS_IN_GO
        return omitted or not field.optional

    def _field_schema(self, field: _Field, of: inspect.Type) -> Document:
        match _bare(of)[0]:
            case inspect.StructType(cls=kind):
                return self._reference(part_component(field.parent, field.name, kind), kind)
            case inspect.ListType(item_type=item):
                return {"type": "array", "items": self._item(field, item)}
            case inspect.DictType() | inspect.AnyType() if "of" in field.rules:
                return self._of(field)
            case inspect.DictType(value_type=value):
                return {"type": "object", "additionalProperties": self._item(field, value)}
            case inspect.StrType() if field.rules.get("format") == "date-time":
                return self._machinery(TIME)
            case inspect.AnyType() | inspect.UnionType() as type_:
                return self._machinery(_UNTYPED[type(type_)])
            case type_:
                return dict(_SCALARS[type(type_)])

    def _item(self, field: _Field, of: inspect.Type) -> Document:
        bare, optional = _bare(of)
        result = self._field_schema(field, of)
        if isinstance(bare, inspect.StructType | inspect.DictType) and not optional:
            return {"default": {}, **result}
        return {"default": "", **result} if result.get("type") == "string" else result

    def _of(self, field: _Field) -> Document:
        of = field.rules["of"]
        if of in _RAW:
            return self._machinery(_RAW[of])
        kind = resolve_name(of)
        return self._reference(part_component(field.parent, field.name, kind), kind)

    def _reference(self, component: str, kind: type[Struct]) -> Document:
        self.add(component, kind)
        return {"$ref": reference(component)}

    def _machinery(self, component: str) -> Document:
        self._add_machinery(component)
        return {"$ref": reference(component)}


_UNTYPED: Final = {inspect.AnyType: JSON, inspect.UnionType: INT_OR_STRING}
_SCALARS: Final[dict[type[inspect.Type], Document]] = {
    inspect.StrType: {"type": "string"},
    inspect.BytesType: {"type": "string", "format": "byte"},
    inspect.BoolType: {"type": "boolean"},
    inspect.IntType: {"type": "integer"},
    inspect.FloatType: {"type": "number"},
}


def _fields(component: str, kind: type[Struct]) -> list[_Field]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    zeros = is_of_kubernetes(component) or getattr(kind, "ZEROS", False)
    return [_field(component, field, zeros=zeros) for field in info.fields]


def _field(component: str, info: inspect.Field, *, zeros: bool) -> _Field:
    """Return a field of a component. zeros: whether required fields are written even if they are
    zero.
    """
    rules: Document = {}
    of = info.type
    if isinstance(of, inspect.Metadata):
        rules, of = dict(of.extra_json_schema or {}), of.type
    of, optional = _bare(of)
    required = info.required or rules.get("required") is True
    written = isinstance(of, inspect.StrType | inspect.IntType) and (
        rules.get("zero") == "written" or (zeros and required)
    )
    return _Field(component, info.encode_name, of, rules, required, optional, written)


def _bare(of: inspect.Type) -> tuple[Any, bool]:
    """Return a type without metadata and `| None`, and whether that was present."""
    if isinstance(of, inspect.Metadata):
        return _bare(of.type)
    if isinstance(of, inspect.UnionType):
        present = [item for item in of.types if not isinstance(item, inspect.NoneType)]
        if len(present) == 1:
            return _bare(present[0])[0], True
        return of, len(present) < len(of.types)
    return of, False
