"""Changes that make a document slightly illegal, or only different."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from tests.differential.case import Json
from tests.differential.draw import Draw

OTHERS: Final[tuple[Json, ...]] = (
    None,
    "",
    "text",
    0,
    1,
    -1,
    1.5,
    True,
    [],
    {},
    [1],
    ["a"],
    {"a": "b"},
    9007199254740993,
    "1",
    "true",
    [{}],
    [None],
    {"a": None},
)


def places(node: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value below a node."""
    children = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in children:
        yield (*path, key)
        yield from places(value, (*path, key))


def parent_of(node: Json, path: tuple[str | int, ...]) -> Json:
    """Return the container of the value at a path."""
    for key in path[:-1]:
        node = node[key]
    return node


def mutated(draw: Draw, document: Json, *, keep: tuple[str, ...] = ()) -> Json:
    """The document with one change. keep: top-level fields that stay."""
    document = copy.deepcopy(document)
    results = [path for path in places(document) if path[0] not in keep]
    if not results:
        return document
    path = draw.one(results)
    holder = parent_of(document, path)
    key: Any = path[-1]
    how = draw.weighted({"other": 5, "gone": 3, "unknown": 2, "twice": 1, "case": 0.3})
    if how == "other":
        holder[key] = copy.deepcopy(draw.one(OTHERS))
    elif how == "gone":
        del holder[key]
    elif how == "twice" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif how == "case" and isinstance(key, str):
        holder[key.upper()] = holder.pop(key)
    else:
        _add_unknown(draw, holder[key] if isinstance(holder[key], dict) else holder)
    return document


def _add_unknown(draw: Draw, holder: Json) -> None:
    if isinstance(holder, dict):
        holder[draw.one(("unknown", "other", "spec"))] = copy.deepcopy(draw.one(OTHERS))
    else:
        holder.append(copy.deepcopy(draw.one(OTHERS)))


def maybe_mutated(draw: Draw, document: Json, share: float = 0.2, **more: tuple[str, ...]) -> Json:
    """The document, with a change or two in a share of cases."""
    while draw.chance(share):
        document = mutated(draw, document, **more)
    return document
