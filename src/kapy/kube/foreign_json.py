"""JSON that somebody else wrote: decoded, or refused with one exception, whatever is wrong.

`msgspec` raises three: DecodeError, UnicodeDecodeError for a text that is no UTF-8, RecursionError
for deep nesting. And what it accepts can be nested so deeply that code which walks through the
value recursively fails much later. All JSON from outside the program is decoded here.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

DEPTH: Final = 300
"""How many levels a value may have: Kubernetes' own kinds need 30, and recursion copes with it."""

_decode: Final = msgspec.json.Decoder().decode


class BadJson(ValueError):
    """The text is no JSON, or is nested too deeply; the message says which."""


class TooDeep(BadJson):
    """The text is nested more deeply than DEPTH."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {DEPTH} levels deep")


def decoded(text: bytes | str) -> Any:
    """The value of a text. Raises BadJson."""
    try:
        value = _decode(text)
    except RecursionError:
        raise TooDeep from None
    except ValueError as error:
        raise BadJson(str(error)) from None
    check_depth(text, value)
    return value


def check_depth(text: bytes | str, value: Any) -> None:
    """Refuse what recursion could not walk through later. text: what `value` was decoded from.

    Raises TooDeep.
    """
    brackets = (
        text.count(b"{") + text.count(b"[")
        if isinstance(text, bytes)
        else text.count("{") + text.count("[")
    )
    if brackets > DEPTH and is_too_deep(value):
        raise TooDeep


def is_too_deep(value: Any) -> bool:
    """Whether a value has more levels than DEPTH. Needs no recursion itself."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH):
        level = [
            one
            for node in level
            for one in (node.values() if isinstance(node, dict) else node)
            if isinstance(one, dict | list)
        ]
        if not level:
            return False
    return True
