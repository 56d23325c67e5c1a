"""Conversion of JSON data to Go's structs without a JSON decoder.

kube-apiserver builds an object from the result of a strategic merge patch this way. Its error
messages differ from a decoder's, and numbers that are too large are truncated.
"""

from __future__ import annotations

from typing import Any, Final

from kapy.apiserver.resources.structs import MalformedValue, WrongType, decoder, facts
from kapy.kube.go_literals import go_type

_NUMBERS: Final = {"int": 64, "int32": 32, "int64": 64}
_THEMSELVES: Final = ("time", "microtime", "quantity", "intstr")
_GO_KINDS: Final = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "slice",
    dict: "map",
}


def from_unstructured(value: Any, kind: str, named: str = "") -> Any:
    """Return the value in the form that a decoder accepts.

    kind: a type as `structs.json` writes it. named: Go's name of a leaf type. Raises WrongType with
    Go's message.
    """
    if value is None:
        return None
    if kind.startswith("[]"):
        _check(value, list, "slice")
        return [from_unstructured(item, kind[2:], named) for item in value]
    if kind.startswith("{}"):
        _check(value, dict, "map")
        return {key: from_unstructured(item, kind[2:], named) for key, item in value.items()}
    if kind == "bytes":
        return _bytes(value)
    if kind in facts()["structs"]:
        return _struct(value, kind)
    return _leaf(value, kind, named)


def _check(value: Any, wanted: type, shown: str) -> None:
    if type(value) is not wanted:
        raise MalformedValue(f"cannot restore {shown} from {_GO_KINDS[type(value)]}")


def _struct(value: Any, kind: str) -> Any:
    if not isinstance(value, dict):
        raise MalformedValue(f"cannot restore struct from: {_GO_KINDS[type(value)]}")
    result = dict(value)
    for name, fact in facts()["structs"][kind].items():
        if name in value and "u" not in fact:
            result[name] = from_unstructured(value[name], fact["t"], fact.get("g", ""))
    return result


def _bytes(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return decoder("bytes")(value, None, [])
        except WrongType as error:
            raise MalformedValue(f"error decoding from json: {error}") from None
    _check(value, list, "slice")
    for item in value:
        if type(item) is not int:
            raise MalformedValue("unrecognized type: uint8")
    return [item % 256 for item in value]


def _leaf(value: Any, kind: str, named: str) -> Any:
    """Convert a scalar, or a value of a type with its own unmarshaller."""
    result = go_type(value)
    if kind in _THEMSELVES:
        decoder(kind, named)(value, None, [])
        return value
    if kind == "string":
        if isinstance(value, str):
            return value
        if result == "int64":
            raise MalformedValue(f"cannot convert int64 to {named or kind}")
        raise MalformedValue("unrecognized type: string")
    if kind == "bool" and not isinstance(value, bool):
        raise MalformedValue("unrecognized type: bool")
    if kind in _NUMBERS:
        return _number(value, kind, named)
    if kind == "float64" and result not in ("int64", "float64"):
        raise MalformedValue("unrecognized type: float64")
    return value


def _number(value: Any, kind: str, named: str) -> int:
    if go_type(value) not in ("int64", "float64"):
        raise MalformedValue(f"unrecognized type: {kind}")
    if value != int(value):
        raise MalformedValue(f"cannot convert float64 to {named or kind}")
    half = 1 << (_NUMBERS[kind] - 1)
    return (int(value) + half) % (2 * half) - half
