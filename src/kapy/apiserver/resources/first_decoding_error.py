"""The wrong value that Go's JSON decoder reports if an object has several.

The decoder continues after a value of a wrong type and reports the first one at the end. A type
with its own unmarshaller (a time, a quantity) aborts the decoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.structs import WrongType, decoder, facts

_THEMSELVES: Final = ("time", "microtime", "quantity", "intstr")


def first_decoding_error(document: Any, struct: str) -> WrongType | None:
    """Return the error for an object of a struct, None if it is valid."""
    for error in _unmarshaller_errors(document, struct):
        return error
    try:
        decoder(struct)(document, None, [])
    except WrongType as error:
        return error
    return None


def _unmarshaller_errors(value: Any, kind: str, named: str = "") -> Iterator[WrongType]:
    """Yield errors of types with their own unmarshaller, in document order."""
    if value is None:
        return
    if kind.startswith("[]"):
        for item in value if isinstance(value, list) else ():
            yield from _unmarshaller_errors(item, kind[2:], named)
    elif kind.startswith("{}"):
        for item in value.values() if isinstance(value, dict) else ():
            yield from _unmarshaller_errors(item, kind[2:], named)
    elif kind in _THEMSELVES:
        try:
            decoder(kind, named)(value, None, [])
        except WrongType as error:
            yield error
    elif isinstance(value, dict):
        yield from _field_errors(value, kind)


def _field_errors(value: Any, struct: str) -> Iterator[WrongType]:
    fields = facts()["structs"].get(struct, {})
    for key, item in value.items():
        fact = fields.get(key)
        if fact is None or "u" in fact:
            continue
        for error in _unmarshaller_errors(item, fact["t"], fact.get("g", "")):
            error.inside(struct.rsplit(".", 1)[1], key)
            yield error
