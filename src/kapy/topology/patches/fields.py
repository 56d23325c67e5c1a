"""Fields of one document taken over by another: how templates and what is made of them meet.

No function changes its arguments; results share what stayed the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.nested import Path

Fields = tuple[tuple[Path, Path], ...]
"""Where a field stands in the source, and where in the destination."""

_LABELS: Final = ("metadata", "labels")
_ANNOTATIONS: Final = ("metadata", "annotations")
_TEMPLATE: Final = ("spec", "template")
_INNER: Final = (
    ((*_TEMPLATE, *_LABELS), (*_TEMPLATE, *_LABELS)),
    ((*_TEMPLATE, *_ANNOTATIONS), (*_TEMPLATE, *_ANNOTATIONS)),
)

OWN_METADATA: Final[Fields] = ((_LABELS, _LABELS), (_ANNOTATIONS, _ANNOTATIONS))
"""From an object made of a template, when it is a template itself."""

METADATA_INTO_TEMPLATE: Final[Fields] = (
    (_LABELS, (*_TEMPLATE, *_LABELS)),
    (_ANNOTATIONS, (*_TEMPLATE, *_ANNOTATIONS)),
)
"""From an object made of a template into that template."""

TEMPLATE_INTO_OBJECT: Final[Fields] = (
    ((*_TEMPLATE, "spec"), ("spec",)),
    ((*_TEMPLATE, *_LABELS), _LABELS),
    ((*_TEMPLATE, *_ANNOTATIONS), _ANNOTATIONS),
)
"""From a template into the object made of it."""

TEMPLATE_INTO_TEMPLATE: Final[Fields] = (
    *OWN_METADATA,
    ((*_TEMPLATE, "spec"), (*_TEMPLATE, "spec")),
    *_INNER,
)
"""From a template into the template made of it."""

PATCHED: Final[Fields] = ((("spec",), ("spec",)), *OWN_METADATA)
"""What patches may change of a template."""


class NoPlace(KapyError):
    """A field cannot be put where it belongs, because something else stands in its way."""


def taken_over(
    destination: Document, source: Document, fields: Fields, preserved: Iterable[Path] = ()
) -> Document:
    """`destination` with those of the fields that `source` has, but for what is preserved of it.

    Raises NoPlace.
    """
    kept = [(path, value) for path in preserved if (value := _at(destination, path)) is not _ABSENT]
    result = destination
    for here, there in fields:
        value = _at(source, here)
        if value is not _ABSENT and value is not _at(result, there):
            result = _put(result, there, value)
    for path, value in kept:
        if _at(result, path) is not value:
            result = _put(result, path, value)
    return result


_ABSENT: Final[Any] = object()


def _at(document: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(document, dict) or part not in document:
            return _ABSENT
        document = document[part]
    return document


def _put(document: Document, path: Path, value: Any) -> Document:
    result = node = dict(document)
    for depth, part in enumerate(path[:-1], 1):
        below = node.get(part, {})
        if not isinstance(below, dict):
            where = ".".join(path[:depth])
            raise NoPlace(f".{'.'.join(path)} cannot be set, because .{where} is no object")
        node[part] = node = dict(below)
    node[path[-1]] = value
    return result
