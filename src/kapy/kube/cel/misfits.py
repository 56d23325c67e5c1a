"""Values that are not of the type that their schema declares: rules cannot speak of them.

A schema's check lets few of them through (a whole number that is written as 1.0), but an old value
may be of any type.
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


_FITTING: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "float": (float, int),
    "int": (int,),
    "bool": (bool,),
}


def fitting_types(kind: Type) -> frozenset[type]:
    """Of values that are no misfits for sure: a quick test before the thorough one."""
    expected = _EXPECTED.get(kind.name)
    if expected is not None:
        return frozenset(_FITTING[expected])
    if kind.name in ("map", "object"):
        return frozenset((dict,))
    return frozenset((list,) if kind.name == "list" else ())


def misfit(kind: Type, value: Any) -> str:
    """Why a value cannot be one of a type, "" if it can. Null is let be, and parts of objects and
    lists are not looked at."""
    if value is None:
        return ""
    expected = _EXPECTED.get(kind.name)
    if expected is not None:
        if isinstance(value, _FITTING[expected]) and (expected == "bool") is isinstance(
            value, bool
        ):
            return ""
        got = next(name for one, name in _GO.items() if isinstance(value, one))
        return f"invalid data, expected {expected}, got {got}"
    if kind.name in ("map", "object") and not isinstance(value, dict):
        return "invalid data, expected a map for the provided schema with type=object"
    if kind.name == "list" and not isinstance(value, list):
        return "invalid data, expected an array for the provided schema with type=array"
    if kind.name == "dyn" and (not isinstance(value, (str, int)) or isinstance(value, bool)):
        return "invalid data, expected XIntOrString value to be either a string or integer"
    return ""
