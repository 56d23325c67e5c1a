"""JSON pointers (RFC 6901): what stands at a place, and copies of a document changed at one.

A change gets the container of the last token and that token, and gives the changed container. No
function changes its arguments; parts that stay are shared with the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from kapy.kube.digits import whole

Change = Callable[[Any, str], Any]

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


def edited(node: Any, tokens: Sequence[str], change: Change) -> Any:
    """`node` with `change` made in the container of the last token, on copies all the way."""
    if len(tokens) == 1:
        return change(node, tokens[0])
    inner = edited(member(node, tokens[0]), tokens[1:], change)
    return replacing(inner)(node, tokens[0])


def replacing(value: Any) -> Change:
    """Put a value in the place of what is there; into a map also where nothing is."""

    def change(container: Any, token: str) -> Any:
        if isinstance(container, dict):
            return {**container, token: value}
        if isinstance(container, list):
            copy = container.copy()
            copy[index(token, len(copy))] = value
            return copy
        raise Inapplicable

    return change


def adding(value: Any) -> Change:
    """Put a value into a map, or before an item of a list (`-` is its end)."""

    def change(container: Any, token: str) -> Any:
        if isinstance(container, dict):
            return {**container, token: value}
        if isinstance(container, list):
            at = len(container) if token == "-" else index(token, len(container) + 1)
            return [*container[:at], value, *container[at:]]
        raise Inapplicable

    return change


def without(container: Any, token: str) -> Any:
    """The change that takes something out, which must be there."""
    if isinstance(container, dict) and token in container:
        return {key: value for key, value in container.items() if key != token}
    if isinstance(container, list):
        at = index(token, len(container))
        return [*container[:at], *container[at + 1 :]]
    raise Inapplicable


def identical(one: Any, two: Any) -> bool:
    """Equality as the texts would have it: 2 is not 2.0, and true is not 1."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(identical(one[k], two[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(identical, one, two))
    return bool(one == two)
