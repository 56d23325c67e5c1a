"""JSON data in the formats of Go's %v and %s, and the names of its Go types."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube.go_literals import float_text

_TYPES: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def type_of(value: Any) -> str:
    """Return the name of the type, as `%s` of `reflect.TypeOf` prints it."""
    return _TYPES.get(type(value), "%!s(<nil>)")


def text(value: Any) -> str:
    """Return a value in Go's %v format."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    return "<nil>" if value is None else str(value)


def as_string(value: Any) -> str:
    """Return a value in Go's %s format; for a value that is not a string, with Go's error text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        parts = (f"{key}:{as_string(value[key])}" for key in sorted(value))
        return f"map[{' '.join(parts)}]"
    if isinstance(value, list):
        return f"[{' '.join(map(as_string, value))}]"
    return "%!s(<nil>)" if value is None else f"%!s({type_of(value)}={text(value)})"
