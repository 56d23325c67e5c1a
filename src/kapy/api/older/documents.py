"""Members of documents while they are converted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapy.kube import Document


def put(document: Document, name: str, value: Any) -> None:
    """Set a member, or remove it when there is no value."""
    if value is None:
        document.pop(name, None)
    else:
        document[name] = value


def value_at(document: Document | None, *path: str) -> Any:
    """Return the value at a path; None if there is none."""
    result: Any = document
    for part in path:
        result = result.get(part) if isinstance(result, dict) else None
    return result


def put_at(document: Document, path: Sequence[str], value: Any) -> None:
    """Set the value at a path, or remove it when there is no value."""
    *parents, name = path
    for parent in parents:
        if value is None and parent not in document:
            return
        document = document.setdefault(parent, {})
    put(document, name, value)


def pop_at(document: Document, path: Sequence[str]) -> Any:
    """Remove the value at a path and return it; None if there is none."""
    *parents, name = path
    parent = value_at(document, *parents)
    return parent.pop(name, None) if isinstance(parent, dict) else None


def bool_to_pointer(value: Any, remembered: Any) -> bool | None:
    """Return a flag that older versions cannot tell from its absence.

    False stays false only if the newest version said so before.
    """
    return True if value else False if remembered is False else None


def int_to_pointer(value: Any, remembered: Any) -> int | None:
    """Return a number that older versions cannot tell from its absence."""
    return value if value else 0 if remembered == 0 and remembered is not False else None
