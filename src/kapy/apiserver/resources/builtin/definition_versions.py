"""What is wrong with what a CustomResourceDefinition says of its versions.

kube-apiserver keeps what all versions have in common beside `spec.versions`, and its errors name
fields there: the scale paths of a definition with one version are in `spec.subresources`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, Shown, duplicate, invalid, required

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_FIELDS: Final = 8
_LONGEST_WARNING: Final = 256


def part_errors(versions: Sequence[Document]) -> Iterator[FieldError]:
    """Of subresources, printer columns, selectable fields and deprecations."""
    for path, version in _places(versions, "subresources"):
        yield from _scale_errors((version["subresources"] or {}).get("scale"), path)
    for path, version in _places(versions, "additionalPrinterColumns"):
        for index, column in enumerate(version["additionalPrinterColumns"] or ()):
            yield from _column_errors(column, f"{path}[{index}]")
    for path, version in _places(versions, "selectableFields"):
        yield from _selectable_errors(version, path)
    for index, version in enumerate(versions):
        yield from _deprecation_errors(version, f"spec.versions[{index}].deprecationWarning")


def _places(versions: Sequence[Document], field: str) -> Iterator[tuple[str, Document]]:
    """The versions that say something of a field, each with its path; one for all if equal."""
    if not versions:
        return
    if all(one.get(field) == versions[0].get(field) for one in versions):
        if field in versions[0]:
            yield f"spec.{field}", versions[0]
        return
    for index, version in enumerate(versions):
        if field in version:
            yield f"spec.versions[{index}].{field}", version


def shown_versions(versions: Sequence[Document]) -> Shown:
    """The versions as an error shows them: with Go's names, and without what they share."""
    shared = {
        field: bool(versions) and all(one.get(field) == versions[0].get(field) for one in versions)
        for field in _SHOWN
    }
    shown = [
        {
            "Name": one.get("name", ""),
            "Served": bool(one.get("served")),
            "Storage": bool(one.get("storage")),
            "Deprecated": bool(one.get("deprecated")),
            "DeprecationWarning": one.get("deprecationWarning"),
            **{name: None if shared[field] else one.get(field) for field, name in _SHOWN.items()},
        }
        for one in versions
    ]
    return Shown.of(shown)


_SHOWN: Final = {
    "schema": "Schema",
    "subresources": "Subresources",
    "additionalPrinterColumns": "AdditionalPrinterColumns",
    "selectableFields": "SelectableFields",
}


def _scale_errors(scale: Document | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    for field, part in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        where, value = f"{path}.scale.{field}", scale.get(field) or ""
        if not value:
            yield required(where)
        else:
            yield from _path_errors(value, where) or _outside(value, where, (part,))
    value = scale.get("labelSelectorPath") or ""
    if value:
        where = f"{path}.scale.labelSelectorPath"
        yield from _path_errors(value, where) or _outside(value, where, ("spec", "status"))


def _outside(value: str, where: str, parts: tuple[str, ...]) -> list[FieldError]:
    if value.startswith(tuple(f".{one}." for one in parts)):
        return []
    names = " or ".join(f".{one}" for one in parts)
    either = "either " if len(parts) > 1 else ""
    return [invalid(where, value, f"should be a json path under {either}{names}")]


def _path_errors(value: str, where: str) -> list[FieldError]:
    if value.startswith("."):
        return []
    return [invalid(where, value, "must be a simple json path starting with .")]


def _column_errors(column: Document, path: str) -> Iterator[FieldError]:
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


def _selectable_errors(version: Document, path: str) -> Iterator[FieldError]:
    fields = version["selectableFields"] or ()
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[str] = set()
    for index, one in enumerate(fields):
        where, value = f"{path}[{index}].jsonPath", one.get("jsonPath") or ""
        if not value:
            yield required(where)
            continue
        node = _node(schema, value)
        if node is None:
            yield invalid(where, value, "is an invalid path: does not refer to a valid field")
        elif node.get("type") not in ("string", "boolean", "integer"):
            text = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            yield invalid(where, value, text)
        if value in seen:
            yield duplicate(where, value)
        seen.add(value)
    if len(fields) > _MOST_FIELDS:
        text = f"must have at most {_MOST_FIELDS} items"
        yield FieldError("FieldValueTooMany", path, text, len(fields))


def _node(schema: Document, path: str) -> Document | None:
    """The schema of the field that a path means; None where there is none, and in metadata."""
    node: Any = schema
    names = path.removeprefix(".").split(".")
    if not path.startswith(".") or names[0] == "metadata":
        return None
    for name in names:
        node = (node.get("properties") or {}).get(name)
        if node is None:
            return None
    found: Document = node
    return found


def _deprecation_errors(version: Document, path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(path, warning, "can only be set for deprecated versions")
    if not warning:
        yield invalid(path, warning, "must not be an empty string")
    if len(warning) > _LONGEST_WARNING:
        text = f"may not be more than {_LONGEST_WARNING} bytes"
        yield FieldError("FieldValueTooLong", path, text)
