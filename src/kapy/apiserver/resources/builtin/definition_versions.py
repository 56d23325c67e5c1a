"""The versions of a CustomResourceDefinition in kube-apiserver's internal form.

There, fields that all versions share are moved out of them. For example, a definition with one
version has its scale paths in `spec.subresources` and its schema in `spec.validation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FixedText, duplicate, invalid, required
from kapy.kube.schema import any_schema
from kapy.kube.schema.schema_text import schema_members
from kapy.kube.schema.structure_errors import unreadable
from kapy.kube.schema.traversal import FieldPathError, field_at

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_FIELDS: Final = 8
_LONGEST_WARNING: Final = 256
_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


@dataclass(frozen=True)
class Versions:
    """The versions of a definition.

    listed: `spec.versions`. absent: the field is missing.
    """

    listed: tuple[Document, ...]
    absent: bool = False

    @classmethod
    def of(cls, spec: Document) -> Versions:
        """Read the versions from a definition's spec."""
        listed = spec.get("versions")
        return cls(tuple(listed or ()), listed is None)

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the versions."""
        return [item.get("name", "") for item in self.listed]

    @cached_property
    def shared(self) -> Document:
        """Return the fields that all versions share."""
        if not self.listed:
            return {}
        first = self.listed[0]
        return {
            field: first.get(field)
            for field in _SHARED
            if all(_same(item.get(field), first.get(field)) for item in self.listed)
        }

    def version_fields(self, version: Document) -> Document:
        """Return the fields of a version that not all versions share."""
        return {field: version.get(field) for field in _SHARED if field not in self.shared}

    def schemas(self) -> list[Document]:
        """Return the schemas of the versions."""
        result = (self.schema_of(name) for name in self.names)
        return [item for item in result if item is not None]

    def schema_of(self, name: str) -> Document | None:
        """Return the schema of a version."""
        version = next((item for item in self.listed if item.get("name", "") == name), {})
        schema: Document | None = (version.get("schema") or {}).get("openAPIV3Schema")
        return schema

    def has_status(self, name: str) -> bool:
        """Report whether a version has a status subresource."""
        version = next((item for item in self.listed if item.get("name", "") == name), {})
        return (version.get("subresources") or {}).get("status") is not None

    def any_has_status(self) -> bool:
        """Report whether any version has a status subresource."""
        return any(map(self.has_status, self.names))

    def have_defaults(self) -> bool:
        """Report whether any schema has a default."""
        return any(
            any_schema(schema, lambda node: node.get("default") is not None)
            for schema in self.schemas()
        )

    def to_internal(self) -> FixedText:
        """Return the versions in the form that errors show: Go's field names, no shared fields."""
        return FixedText.of(
            None if self.absent else [self._version_to_internal(item) for item in self.listed]
        )

    def _version_to_internal(self, version: Document) -> Document:
        own = self.version_fields(version)
        return {
            "Name": version.get("name", ""),
            "Served": bool(version.get("served")),
            "Storage": bool(version.get("storage")),
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": _validation_to_internal(own.get("schema")),
            "Subresources": _subresources_to_internal(own.get("subresources")),
            "AdditionalPrinterColumns": _columns_to_internal(own.get("additionalPrinterColumns")),
            "SelectableFields": _fields_to_internal(own.get("selectableFields")),
        }


def _same(value: Any, other: Any) -> bool:
    """Report whether two values are equal; an empty list equals an absent one."""
    return bool(value == other) or (value in (None, []) and other in (None, []))


def _validation_to_internal(validation: Document | None) -> Any:
    if validation is None:
        return None
    schema = validation.get("openAPIV3Schema")
    return {"OpenAPIV3Schema": None if schema is None else schema_members(schema)}


def _subresources_to_internal(subresources: Document | None) -> Any:
    if subresources is None:
        return None
    scale = subresources.get("scale")
    return {
        "Status": None if subresources.get("status") is None else {},
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _columns_to_internal(columns: Sequence[Document] | None) -> Any:
    if columns is None:
        return None
    texts = ("name", "type", "format", "description")
    return [
        {
            **{text.capitalize(): column.get(text, "") for text in texts},
            "Priority": column.get("priority", 0),
            "JSONPath": column.get("jsonPath", ""),
        }
        for column in columns
    ]


def _fields_to_internal(fields: Sequence[Document] | None) -> Any:
    return None if fields is None else [{"JSONPath": field.get("jsonPath", "")} for field in fields]


def scale_errors(subresources: Document | None, path: str) -> Iterator[FieldError]:
    """Yield the errors of a scale subresource's paths."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for field, part in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        where, value = f"{path}.scale.{field}", scale.get(field) or ""
        if not value:
            yield required(where)
        else:
            yield from _path_errors(value, where) or _outside_error(value, where, (part,))
    value = scale.get("labelSelectorPath") or ""
    if value:
        where = f"{path}.scale.labelSelectorPath"
        yield from _path_errors(value, where) or _outside_error(value, where, ("spec", "status"))


def _outside_error(value: str, where: str, parts: tuple[str, ...]) -> list[FieldError]:
    if value.startswith(tuple(f".{part}." for part in parts)):
        return []
    names = " or ".join(f".{part}" for part in parts)
    either = "either " if len(parts) > 1 else ""
    return [invalid(where, value, f"should be a json path under {either}{names}")]


def _path_errors(value: str, where: str) -> list[FieldError]:
    if value.startswith("."):
        return []
    return [invalid(where, value, "must be a simple json path starting with .")]


def column_errors(column: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a printer column."""
    if not column.get("name"):
        yield required(f"{path}.name")
    kind, form = column.get("type") or "", column.get("format") or ""
    if not kind:
        yield required(f"{path}.type", f"must be one of {','.join(_TYPES)}")
    elif kind not in _TYPES:
        yield invalid(f"{path}.type", kind, f"must be one of {','.join(_TYPES)}")
    if form and form not in _FORMATS:
        yield invalid(f"{path}.format", form, f"must be one of {','.join(_FORMATS)}")
    where = f"{path}.JSONPath"
    if not column.get("jsonPath"):
        yield required(where)
    else:
        yield from _path_errors(column["jsonPath"], where)


def selectable_errors(
    fields: Sequence[Document], schema: Document | None, path: str, *, shared: bool
) -> Iterator[FieldError]:
    """Yield the errors of selectableFields. shared: all versions have the same ones."""
    if schema is None:
        if not shared:
            text = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield invalid(path, "", text)
        else:
            yield invalid(path, "", "may only be set when validations.schema is included")
        return
    if problem := unreadable(schema):
        yield invalid(f"{path.rpartition('.')[0]}.schema.openAPIV3Schema", "", problem)
        schema = {}
    paths: set[tuple[str, ...]] = set()
    for index, field in enumerate(fields):
        yield from _field_errors(field.get("jsonPath") or "", schema, f"{path}[{index}]", paths)
    if len(paths) > _MOST_FIELDS:
        text = f"must have at most {_MOST_FIELDS} items"
        yield FieldError("FieldValueTooMany", path, text, len(paths))


def _field_errors(
    value: str, schema: Document, path: str, paths: set[tuple[str, ...]]
) -> Iterator[FieldError]:
    """Yield the errors of one selectable field. paths: the paths of the fields before it."""
    where = f"{path}.jsonPath"
    if not value:
        yield required(where)
        return
    try:
        names, result = field_at(schema, value, brackets=False)
    except FieldPathError as error:
        yield invalid(where, value, f"is an invalid path: {error}")
        return
    if names[0] == "metadata":
        yield invalid(where, value, "must not point to fields in metadata")
    if result is None or result.get("type") not in ("string", "boolean", "integer"):
        text = (
            "must point to a field of type string, boolean or integer. Enum string fields and "
            "strings with formats are allowed."
        )
        yield invalid(where, value, text)
    if names in paths:
        yield duplicate(where, value)
    paths.add(names)


def deprecation_errors(version: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a version's deprecation warning."""
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    fixed_text = FixedText.of(warning)
    if not version.get("deprecated"):
        yield invalid(path, fixed_text, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _LONGEST_WARNING:
        yield invalid(path, fixed_text, f"must be <= {_LONGEST_WARNING} characters long")
    if not warning:
        yield invalid(path, fixed_text, "must not be an empty string")
    at = next((index for index, item in enumerate(warning) if not item.isprintable()), None)
    if at is not None:
        index = len(warning[:at].encode())
        text = "must only contain printable UTF-8 characters; non-printable character found at"
        yield invalid(path, fixed_text, f"{text} index {index}")
