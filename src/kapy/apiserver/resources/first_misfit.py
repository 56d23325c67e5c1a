"""Which of several wrong values of an object Go's decoder of JSON names.

It goes on after a value of the wrong type, and tells the first one at the end. A type that reads
itself (a time, a quantity) ends everything where it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.structs import Misfit, decoder, facts

_THEMSELVES: Final = ("time", "microtime", "quantity", "intstr")


def first_misfit(document: Any, struct: str) -> Misfit | None:
    """What is wrong with an object of a struct, None when nothing is."""
    for error in _of_themselves(document, struct):
        return error
    try:
        decoder(struct)(document, None, [])
    except Misfit as error:
        return error
    return None


def _of_themselves(value: Any, kind: str, named: str = "") -> Iterator[Misfit]:
    """What types that read themselves find wrong, in the order of the document."""
    if value is None:
        return
    if kind.startswith("[]"):
        for item in value if isinstance(value, list) else ():
            yield from _of_themselves(item, kind[2:], named)
    elif kind.startswith("{}"):
        for item in value.values() if isinstance(value, dict) else ():
            yield from _of_themselves(item, kind[2:], named)
    elif kind in _THEMSELVES:
        try:
            decoder(kind, named)(value, None, [])
        except Misfit as error:
            yield error
    elif isinstance(value, dict):
        yield from _of_fields(value, kind)


def _of_fields(value: Any, struct: str) -> Iterator[Misfit]:
    fields = facts()["structs"].get(struct, {})
    for key, item in value.items():
        fact = fields.get(key)
        if fact is None or "u" in fact:
            continue
        for error in _of_themselves(item, fact["t"], fact.get("g", "")):
            error.inside(struct.rsplit(".", 1)[1], key)
            yield error
