"""JSON pointers (RFC 6901): what stands at a place of a document."""

from __future__ import annotations

import re
from typing import Any, Final

from kapy.kube.digits import whole

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")


class Inapplicable(Exception):
    """Nothing can be done at this place."""


def tokens_of(pointer: str) -> list[str]:
    """The tokens of a pointer; what stands before its first slash is ignored."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def member(node: Any, token: str) -> Any:
    """What a container holds. Raises Inapplicable."""
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list):
        return node[index(token, len(node))]
    raise Inapplicable


def index(token: str, length: int) -> int:
    """A position among `length` items; negative ones count from the end."""
    if not _INDEX.fullmatch(token):
        raise Inapplicable
    at = whole(token)
    if not -length <= at < length:
        raise Inapplicable
    return at % length
