"""Query parameters as Go's conversion of `url.Values` reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kapy.apiserver.refusals import bad_integer

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,400}")
_MOST: Final = 1 << 63


def flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a parameter is set: to anything (also to nothing) but `0` and `false`."""
    value = query.get(name)
    return value is not None and value != "0" and value.lower() != "false"


def whole(query: Mapping[str, str], name: str) -> int | None:
    """A parameter that is a number of 64 bits, None when it is absent.

    Raises BadRequest.
    """
    text = query.get(name)
    if text is None:
        return None
    if not _INTEGER.fullmatch(text):
        raise bad_integer(text)
    number = int(text)
    if not -_MOST <= number < _MOST:
        raise bad_integer(text, "value out of range")
    return number
