"""Access to nested values of documents; updates copy and never change shared data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from kapy.kube import Document

Path: TypeAlias = tuple[str, ...]
Changes: TypeAlias = dict[Path, Any]


def value_at(document: Any, path: Path) -> Any:
    """Return the value at a path, None if there is none."""
    for part in path:
        document = document.get(part) if isinstance(document, dict) else None
    return document


def with_values(document: Document, changes: Mapping[Path, Any]) -> Document:
    """Return the document with values set at paths; the unchanged parts are shared.

    A path through a value that is not an object is ignored.
    """
    copies: dict[Path, Document] = {}
    for path, value in changes.items():
        if value_at(document, path) == value:
            continue
        *parents, name = path
        node = copies.setdefault((), dict(document))
        for depth in range(1, len(parents) + 1):
            here = tuple(parents[:depth])
            if here not in copies:
                below = node.get(here[-1])
                if below is not None and not isinstance(below, dict):
                    break
                node[here[-1]] = copies[here] = dict(below or {})
            node = copies[here]
        else:
            node[name] = value
    return copies.get((), document)
