"""Field paths that are formatted only when an error needs them.

Formatting the path of every visited field would cost quadratic time in documents with long keys.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Path: TypeAlias = "str | tuple[Any, str | int]"
"""A formatted path, or a pair of a parent path and an index or a text with its punctuation."""


def path_text(path: Path) -> str:
    """Return a path in the form of error messages: `spec.containers[0].name`."""
    parts: list[str] = []
    while isinstance(path, tuple):
        path, last = path
        parts.append(last if isinstance(last, str) else f"[{last}]")
    parts.append(path)
    parts.reverse()
    return "".join(parts)


def member(path: Path, name: str) -> Path:
    """Return the path of an object's member."""
    return (path, f".{name}") if path else name
