"""JSON pointers (RFC 6901)."""

from __future__ import annotations

import re
from typing import Any, Final

from kapy.kube.digits import parse_integer

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")


class CannotApply(Exception):
    """An operation cannot be applied at this path."""


def parse_pointer(pointer: str) -> list[str]:
    """Split a pointer into tokens; text before the first slash is ignored."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def child(node: Any, token: str) -> Any:
    """Return the value of a token in a container. Raises CannotApply."""
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list):
        return node[index(token, len(node))]
    raise CannotApply


def index(token: str, length: int) -> int:
    """Parse a list index for a list of `length` items; a negative index counts from the end."""
    if not _INDEX.fullmatch(token):
        raise CannotApply
    at = parse_integer(token)
    if not -length <= at < length:
        raise CannotApply
    return at % length
