"""Defaulting, and removal of nulls that the schema does not allow."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kapy.kube import Document
from kapy.kube.errors import TooLarge
from kapy.kube.patch.merge_patch import is_equal_json
from kapy.kube.schema.node import Node
from kapy.kube.schema.rules import ABSENT

MAX_ADDED_BYTES: Final = 3 * 1024 * 1024
"""The most bytes of JSON that defaults may add to one document: a body of many empty objects could
otherwise grow to thousands of times its size.
"""

_encode = msgspec.json.Encoder().encode
_META = frozenset(("apiVersion", "kind", "metadata"))


def complete(node: Node) -> None:
    """Compute once the final value of each default, including defaults within it."""
    for child in (*node.properties.values(), node.additional, node.items):
        if child is not None:
            complete(child)
    node.defaults = {
        name: child.default
        for name, child in node.properties.items()
        if child.default is not ABSENT and child.default is not None
    }
    node.defaults_size = sum(node.properties[name].default_size for name in node.defaults)
    if node.default is not ABSENT:
        node.default = apply_defaults(node, node.default, filling=DefaultingPass())
        node.default_size = len(_encode(node.default))


def without_nulls(node: Node | None, value: Any) -> Any:
    """Remove nulls that are not allowed and have no default; nulls in lists stay.

    Returns the value itself if there are none.
    """
    if isinstance(value, list):
        items = node.items if node is not None else None
        result = [without_nulls(items, item) for item in value]
        return value if all(a is b for a, b in zip(value, result, strict=True)) else result
    if not isinstance(value, dict) or node is None:
        return value
    changed: Document = {}
    for name, inner in value.items():
        child = node.child(name)
        if inner is None and child is not None:
            if not child.nullable and child.default is ABSENT:
                changed[name] = ABSENT
        elif isinstance(inner, (dict, list)):
            new = without_nulls(child, inner)
            if new is not inner:
                changed[name] = new
    if not changed:
        return value
    return {name: item for name, item in (value | changed).items() if item is not ABSENT}


class DefaultingPass:
    """One pass over one document. keep_nulls: keep disallowed nulls that have no default."""

    __slots__ = ("_room", "keep_nulls")

    def __init__(self, *, keep_nulls: bool = False) -> None:
        self.keep_nulls = keep_nulls
        self._room = MAX_ADDED_BYTES

    def add(self, size: int) -> None:
        """Count the bytes of a default. Raises TooLarge."""
        self._room -= size
        if self._room < 0:
            raise TooLarge(
                f"Request entity too large: defaults would add more than {MAX_ADDED_BYTES} bytes"
            )


def apply_defaults(
    node: Node, value: Any, settled: Any = ABSENT, *, filling: DefaultingPass
) -> Any:
    """Return the value with defaults; `settled` itself if the value equals it. Raises TooLarge."""
    if value is settled or (settled is not ABSENT and is_equal_json(value, settled)):
        return settled
    if isinstance(value, dict):
        return _default_object(node, value, settled, filling=filling)
    if isinstance(value, list) and node.items is not None:
        return _default_list(node.items, value, settled, filling=filling)
    return value


def _default_object(
    node: Node, value: Document, settled: Any, *, filling: DefaultingPass
) -> Document:
    old_values = settled if isinstance(settled, dict) else {}
    changed: Document = {}
    for name, inner in value.items():
        if inner.__class__ is str or (inner is not None and not isinstance(inner, (dict, list))):
            continue
        child = node.child(name)
        if child is None or (node.embedded and name in _META):
            continue
        if inner is None:
            if not (child.nullable or (filling.keep_nulls and child.default is ABSENT)):
                changed[name] = child.default
                filling.add(child.default_size)
            continue
        new = apply_defaults(child, inner, old_values.get(name, ABSENT), filling=filling)
        if new is not inner:
            changed[name] = new
    if node.defaults and not node.defaults.keys() <= value.keys():
        filling.add(node.defaults_size)
        changed |= {name: default for name, default in node.defaults.items() if name not in value}
    if not changed:
        return value
    merged = {**value, **changed}
    names = [name for name, item in changed.items() if item is ABSENT or item is None]
    for name in names:
        del merged[name]
    return merged


def _default_list(
    node: Node, value: list[Any], settled: Any, *, filling: DefaultingPass
) -> list[Any]:
    old_values = settled if isinstance(settled, list) else []
    result: list[Any] | None = None
    for index, inner in enumerate(value):
        if inner is None:
            if node.nullable or node.default is ABSENT:
                continue
            new = node.default
            filling.add(node.default_size)
        elif isinstance(inner, (dict, list)):
            before = old_values[index] if index < len(old_values) else ABSENT
            new = apply_defaults(node, inner, before, filling=filling)
        else:
            continue
        if new is not inner:
            result = value.copy() if result is None else result
            result[index] = new
    return value if result is None else result
