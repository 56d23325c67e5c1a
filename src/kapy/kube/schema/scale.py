"""Validation of an object against its CRD's scale subresource: the paths must hold valid values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.go_literals import go_text

_MAX_INT32: Final = (1 << 31) - 1
_GO_TYPES: Final = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def scale_errors(document: Document, scale: Document) -> list[FieldError]:
    """Return the errors at the paths of a CRD's `spec.versions[].subresources.scale`."""
    return list(_errors(document, scale))


def _errors(document: Document, scale: Document) -> Iterator[FieldError]:
    for name in ("specReplicasPath", "statusReplicasPath"):
        path = scale.get(name) or ""
        value, problem = value_at(document, path, int)
        if problem:
            yield invalid(path, 0, problem)
        elif path and value is not None and value < 0:
            yield invalid(path, value, "should be a non-negative integer")
        elif path and value is not None and value > _MAX_INT32:
            yield invalid(path, value, f"should be less than or equal to {_MAX_INT32}")
    selector = scale.get("labelSelectorPath") or ""
    _, problem = value_at(document, selector, str)
    if problem:
        yield invalid(selector, "", problem)


def value_at(document: Document, path: str, expected: type) -> tuple[Any, str]:
    """Return the value at a path and its error; (None, "") if it is absent."""
    value: Any = document
    names = path.removeprefix(".").split(".") if path else []
    for index, name in enumerate(names):
        if not isinstance(value, dict):
            if value is None:
                return None, ""
            return None, _accessor_error(names[: index + 1], value, "map[string]interface{}")
        if name not in value:
            return None, ""
        value = value[name]
    if value is document or type(value) is expected:
        return (None if value is document else value), ""
    return None, _accessor_error(names, value, "int64" if expected is int else "string")


def _accessor_error(names: list[str], value: Any, expected: str) -> str:
    path = "." + ".".join(names)
    result = _GO_TYPES.get(type(value), "<nil>")
    return f"{path} accessor error: {go_text(value)} is of the type {result}, expected {expected}"
