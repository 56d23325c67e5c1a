"""Copies fields from one document to another, such as from a template to its object.

No function changes its arguments; results share unchanged parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.nested import Path

Fields = tuple[tuple[Path, Path], ...]
"""Pairs of a path in the source and a path in the destination."""

_LABELS: Final = ("metadata", "labels")
_ANNOTATIONS: Final = ("metadata", "annotations")
_TEMPLATE: Final = ("spec", "template")
_INNER: Final = (
    ((*_TEMPLATE, *_LABELS), (*_TEMPLATE, *_LABELS)),
    ((*_TEMPLATE, *_ANNOTATIONS), (*_TEMPLATE, *_ANNOTATIONS)),
)

OWN_METADATA: Final[Fields] = ((_LABELS, _LABELS), (_ANNOTATIONS, _ANNOTATIONS))
"""From the metadata of a cloned template into the template of the class."""

METADATA_INTO_TEMPLATE: Final[Fields] = (
    (_LABELS, (*_TEMPLATE, *_LABELS)),
    (_ANNOTATIONS, (*_TEMPLATE, *_ANNOTATIONS)),
)
"""From the metadata of an object into the template from which it was created."""

TEMPLATE_INTO_OBJECT: Final[Fields] = (
    ((*_TEMPLATE, "spec"), ("spec",)),
    ((*_TEMPLATE, *_LABELS), _LABELS),
    ((*_TEMPLATE, *_ANNOTATIONS), _ANNOTATIONS),
)
"""From a template into the object created from it."""

TEMPLATE_INTO_TEMPLATE: Final[Fields] = (
    *OWN_METADATA,
    ((*_TEMPLATE, "spec"), (*_TEMPLATE, "spec")),
    *_INNER,
)
"""From a template of the class into its clone."""

PATCHED: Final[Fields] = ((("spec",), ("spec",)), *OWN_METADATA)
"""The fields of a template that patches may change."""


class CannotSetField(KapyError):
    """A field cannot be set because a value on its path is not an object."""


def copy_fields(
    destination: Document, source: Document, fields: Fields, preserved: Iterable[Path] = ()
) -> Document:
    """`destination` with the given fields of `source`, except for the preserved paths.

    Raises CannotSetField.
    """
    preserved_values = [
        (path, value)
        for path in preserved
        if (value := _value_at(destination, path)) is not _ABSENT
    ]
    result = destination
    for here, there in fields:
        value = _value_at(source, here)
        if value is not _ABSENT and value is not _value_at(result, there):
            result = _with_value(result, there, value)
    for path, value in preserved_values:
        if _value_at(result, path) is not value:
            result = _with_value(result, path, value)
    return result


_ABSENT: Final[Any] = object()


def _value_at(document: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(document, dict) or part not in document:
            return _ABSENT
        document = document[part]
    return document


def _with_value(document: Document, path: Path, value: Any) -> Document:
    result = node = dict(document)
    for depth, part in enumerate(path[:-1], 1):
        below = node.get(part, {})
        if not isinstance(below, dict):
            where = ".".join(path[:depth])
            raise CannotSetField(f".{'.'.join(path)} cannot be set, because .{where} is no object")
        node[part] = node = dict(below)
    node[path[-1]] = value
    return result
