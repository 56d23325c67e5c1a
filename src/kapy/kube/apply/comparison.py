"""Comparison of two states of an object by field.

One walk covers both states. Parts that are the same Python object are skipped, so that the cost
depends only on what a write changed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kapy.kube.apply.fields import LEAF, Fields
from kapy.kube.apply.types import (
    DEDUCED,
    Deduced,
    InvalidItem,
    ListType,
    MapType,
    Scalar,
    Type,
    Untracked,
    item_key,
    resolve_deduced,
)
from kapy.kube.patch.merge_patch import is_equal_json

Changes: TypeAlias = tuple[Fields | None, Fields | None]
"""The added or changed fields, and the removed fields; None if there are none."""

_NONE: Changes = (None, None)
_CHANGED: Changes = (LEAF, None)


def changes(node: Type, old: Any, new: Any) -> Changes:
    """Compare two values of one type."""
    if old is new:
        return _NONE
    if isinstance(node, MapType):
        return _map_changes(node, old, new)
    if isinstance(node, Scalar):
        return _NONE if is_equal_json(old, new) else _CHANGED
    if isinstance(node, ListType):
        return _list_changes(node, old, new)
    if isinstance(node, Untracked):
        return _NONE
    return _deduced_changes(node, old, new)


def _map_changes(node: MapType, old: Any, new: Any) -> Changes:
    before: dict[str, Any] = old if isinstance(old, dict) else {}
    after: dict[str, Any] = new if isinstance(new, dict) else {}
    if node.atomic or not (before or after):
        return _NONE if is_equal_json(old, new) else _CHANGED
    changed: Fields = {}
    removed: Fields = {}
    members, others = node.members, node.element or DEDUCED
    for name, value in after.items():
        if name in before:
            was = before[name]
            if was is value or (value.__class__ is str and was == value):
                continue
            more, less = changes(members.get(name, others), was, value)
            if more is not None:
                changed["f:" + name] = more
            if less is not None:
                removed["f:" + name] = less
        elif (added := all_paths(members.get(name, others), value)) is not None:
            changed["f:" + name] = added
    # Fast path: most writes remove nothing.
    for name in () if before.keys() <= after.keys() else before.keys() - after.keys():
        if (removed_paths := all_paths(node.type_of(name), before[name])) is not None:
            removed["f:" + name] = removed_paths
    return changed or None, removed or None


def _list_changes(node: ListType, old: Any, new: Any) -> Changes:
    before: list[Any] = old if isinstance(old, list) else []
    after: list[Any] = new if isinstance(new, list) else []
    if node.keys is None or not (before or after):
        return _NONE if is_equal_json(old, new) else _CHANGED
    in_place = _in_place_changes(node, before, after)
    if in_place is not None:
        return in_place
    olds, news = _index_by_element(node, before), _index_by_element(node, after)
    changed: Fields = {}
    removed: Fields = {}
    for key, items in news.items():
        more, less = _item_changes(node, olds.get(key, []), items)
        if more is not None:
            changed[key] = more
        if less is not None:
            removed[key] = less
    for key, items in olds.items():
        if key not in news:
            removed[key] = _items(node, items)
    return changed or None, removed or None


def _in_place_changes(node: ListType, before: list[Any], after: list[Any]) -> Changes | None:
    """Compare lists whose items kept their positions; return None if they did not."""
    if len(before) != len(after):
        return None
    changed: Fields = {}
    removed: Fields = {}
    for old, new in zip(before, after, strict=True):
        if old is new or (old == new and is_equal_json(old, new)):
            continue
        try:
            key = item_key(node, new)
            if item_key(node, old) != key or key in changed or key in removed:
                return None
        except InvalidItem:
            return None
        more, less = changes(node.element, old, new)
        if more is not None:
            changed[key] = more
        if less is not None:
            removed[key] = less
    return changed or None, removed or None


def _index_by_element(node: ListType, items: list[Any]) -> dict[str, list[Any]]:
    """Index the items by path element; items without one are ignored."""
    index: dict[str, list[Any]] = {}
    for item in items:
        try:
            index.setdefault(item_key(node, item), []).append(item)
        except InvalidItem:
            continue
    return index


def _item_changes(node: ListType, olds: list[Any], news: list[Any]) -> Changes:
    """Compare the items with one key; several on one side are compared as one field."""
    if not olds:
        return _items(node, news), None
    if len(olds) == 1 and len(news) == 1:
        return changes(node.element, olds[0], news[0])
    if len(olds) > 1 and len(news) > 1:
        return _NONE if is_equal_json(olds, news) else _CHANGED
    return _items(node, news), _items(node, olds)


def _items(node: ListType, items: list[Any]) -> Fields:
    return LEAF if len(items) > 1 else all_paths(node.element, items[0]) or LEAF


def _deduced_changes(node: Deduced, old: Any, new: Any) -> Changes:
    before, after = resolve_deduced(node, old), resolve_deduced(node, new)
    if old is None:
        before = after
    elif new is None:
        after = before
    if before is after:
        return changes(after, old, new)
    removed = changes(before, old, None)[1] if isinstance(old, dict) else None
    more = changes(after, None, new)[0] if isinstance(new, dict) else None
    return ({".": LEAF, **more} if more else LEAF), removed


def all_paths(node: Type, value: Any) -> Fields | None:
    """Return every path of an added or removed value; None if it is not tracked."""
    node = resolve_deduced(node, value)
    if isinstance(node, MapType):
        if node.atomic or not value or not isinstance(value, dict):
            return LEAF
        below: Fields = {} if node.silent else {".": LEAF}
        members, others = node.members, node.element or DEDUCED
        for name, inner in value.items():
            member = members.get(name, others)
            if member.__class__ is Scalar:  # fast path: most members of new objects are scalars
                below["f:" + name] = LEAF
            elif (fields := all_paths(member, inner)) is not None:
                below["f:" + name] = fields
        return below or None
    if isinstance(node, ListType):
        if node.keys is None or not value or not isinstance(value, list):
            return LEAF
        return {
            ".": LEAF,
            **{key: _items(node, items) for key, items in _index_by_element(node, value).items()},
        }
    return None if isinstance(node, Untracked) else LEAF
