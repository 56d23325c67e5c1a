"""Values that do not have the type that their schema declares; rules cannot use them.

Schema validation accepts few of them (an integer written as 1.0), but an old value may have any
type.
"""

from __future__ import annotations

from typing import Any, Final

from kapy.kube.cel.types import Type

_EXPECTED: Final = {
    "string": "string",
    "bytes": "string",
    "timestamp": "string",
    "duration": "string",
    "double": "float",
    "int": "int",
    "bool": "bool",
}
_GO: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


_MATCHING_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "float": (float, int),
    "int": (int,),
    "bool": (bool,),
}


def matching_types(kind: Type) -> frozenset[type]:
    """Return the Python types that always match: a fast check before the complete one."""
    expected = _EXPECTED.get(kind.name)
    if expected is not None:
        return frozenset(_MATCHING_TYPES[expected])
    if kind.name in ("map", "object"):
        return frozenset((dict,))
    return frozenset((list,) if kind.name == "list" else ())


def type_mismatch(kind: Type, value: Any) -> str:
    """Return the reason for which a value does not have a type, "" if it does. Null is ignored, and
    the parts of objects and lists are not checked.
    """
    if value is None:
        return ""
    expected = _EXPECTED.get(kind.name)
    if expected is not None:
        if isinstance(value, _MATCHING_TYPES[expected]) and (expected == "bool") is isinstance(
            value, bool
        ):
            return ""
        got = next(name for key, name in _GO.items() if isinstance(value, key))
        return f"invalid data, expected {expected}, got {got}"
    if kind.name in ("map", "object") and not isinstance(value, dict):
        return "invalid data, expected a map for the provided schema with type=object"
    if kind.name == "list" and not isinstance(value, list):
        return "invalid data, expected an array for the provided schema with type=array"
    if kind.name == "dyn" and (not isinstance(value, (str, int)) or isinstance(value, bool)):
        return "invalid data, expected XIntOrString value to be either a string or integer"
    return ""
