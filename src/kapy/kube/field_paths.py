"""Paths of fields that nobody has to spell until something is wrong there.

A walk over a document that spelled the path of everything it sees would take as long as all paths
are: below one long key, that is the square of the document's size.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Path: TypeAlias = "str | tuple[Any, str | int]"
"""A spelled path, or one and what stands below it: an index, or text with all its signs."""


def spelled(path: Path) -> str:
    """A path as messages show it: `spec.containers[0].name`."""
    parts: list[str] = []
    while isinstance(path, tuple):
        path, last = path
        parts.append(last if isinstance(last, str) else f"[{last}]")
    parts.append(path)
    parts.reverse()
    return "".join(parts)


def member(path: Path, name: str) -> Path:
    """The path of a member of an object."""
    return (path, f".{name}") if path else name
