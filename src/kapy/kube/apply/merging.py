"""Merging an applied configuration into an object, and removing fields from an object."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, TypeAlias

from kapy.kube.apply.fields import LEAF, Fields, difference, member
from kapy.kube.apply.types import (
    DEDUCED,
    OBJECT_META,
    STRING,
    InvalidItem,
    ListType,
    MapType,
    Type,
    Untracked,
    item_key,
    resolve_deduced,
)

_ABSENT: Final = object()
_Index: TypeAlias = dict[str, Any]


def merge(node: Type, live: Any, applied: Any) -> Any:
    """Return `live` with the values of `applied`; nothing is removed, and lists keep a sensible
    order.
    """
    if applied is live:
        return live
    mine, theirs = resolve_deduced(node, live), resolve_deduced(node, applied)
    if live is None:
        mine = theirs
    elif applied is None:
        theirs = mine
    if isinstance(theirs, MapType) and not theirs.atomic:
        return _merge_map(theirs, live, applied)
    if isinstance(theirs, ListType) and theirs.keys is not None:
        return _merge_list(theirs, live, applied)
    return applied


def _merge_map(node: MapType, live: Any, applied: Any) -> Any:
    before: dict[str, Any] = live if isinstance(live, dict) else {}
    after: dict[str, Any] = applied if isinstance(applied, dict) else {}
    if not after:
        return live if before else applied
    result = None
    for name, value in after.items():
        old = before.get(name, _ABSENT)
        new = value if old is _ABSENT else merge(node.type_of(name), old, value)
        if new is not old:
            if result is None:
                result = dict(before)
            result[name] = new
    return live if result is None else result


def _merge_list(node: ListType, live: Any, applied: Any) -> Any:
    before: list[Any] = live if isinstance(live, list) else []
    after: list[Any] = applied if isinstance(applied, list) else []
    if not after:
        return live if before else applied
    lefts = [_key_or_none(node, item) for item in before]
    rights = [item_key(node, item) for item in after]
    left_items = {key: item for key, item in zip(lefts, before, strict=True) if key is not None}
    right_items = dict(zip(rights, after, strict=True))
    duplicated = {key for key, times in Counter(lefts).items() if times > 1}
    result = []
    for key, item in _order(lefts, rights, left_items, right_items, before):
        if key not in right_items or key is None:
            result.append(item)
        elif key in left_items and key not in duplicated:
            result.append(merge(node.element, left_items[key], right_items[key]))
        else:
            result.append(right_items[key])
    same_items = len(result) == len(before) and all(map(_is_same, result, before))
    return live if same_items else result


def _is_same(left: Any, right: Any) -> bool:
    return left is right


def _key_or_none(node: ListType, item: Any) -> str | None:
    try:
        return item_key(node, item)
    except InvalidItem:
        return None


def _order(
    lefts: list[str | None], rights: list[str], left: _Index, right: _Index, items: list[Any]
) -> list[tuple[str | None, Any]]:
    """Return the keys of both lists, each once. Shared items have the order of the right list;
    items of the left list alone keep their positions between shared ones.
    """
    result: list[tuple[str | None, Any]] = []
    value: set[str] = set()
    shared = [key for key in rights if key in left]
    at_left = at_right = at_shared = 0
    while at_left < len(lefts) or at_right < len(rights):
        next_shared = shared[at_shared] if at_shared < len(shared) else None
        if at_left < len(lefts):
            key = lefts[at_left]
            if at_right < len(rights):
                if key == rights[at_right]:
                    result.append((key, None))
                    value.add(rights[at_right])
                    at_left, at_right, at_shared = at_left + 1, at_right + 1, at_shared + 1
                    continue
                if key in right and next_shared is not None and key != next_shared:
                    at_left += 1
                    continue
            if key not in right:
                result.append((key, items[at_left]))
                at_left += 1
                continue
            if key in value:
                at_left += 1
        if at_right < len(rights):
            result.append((rights[at_right], None))
            value.add(rights[at_right])
            if rights[at_right] == next_shared:
                at_shared += 1
            at_right += 1
    return result


def owned_fields(node: Type, value: Any) -> Fields | None:
    """Return the fields that a configuration sets, before `without_server_fields` removes some;
    None if there are none.
    """
    result = resolve_deduced(node, value)
    if isinstance(result, MapType):
        if result.atomic:
            return LEAF
        return _owned_members(result, value) if isinstance(value, dict) else None
    if isinstance(result, ListType):
        if result.keys is None:
            return LEAF
        return _owned_items(result, value) if isinstance(value, list) else None
    return None if value is None and result is not node else LEAF


def _owned_members(node: MapType, value: dict[str, Any]) -> Fields | None:
    result: Fields = {}
    for name, inner in value.items():
        below = owned_fields(node.type_of(name), inner)
        if inner is None or inner == {} or not node.declares(name):
            below = member(below)
        if below is not None:
            result["f:" + name] = below
    return result or None


def _owned_items(node: ListType, value: list[Any]) -> Fields | None:
    result: Fields = {}
    for item in value:
        key = _key_or_none(node, item)
        if key is not None:
            result[key] = LEAF if key in result else member(owned_fields(node.element, item))
    return result or None


def without_server_fields(fields: Fields) -> Fields:
    """Return the fields without the server's own part of the metadata, which has no owner."""
    return difference(fields, _SERVER_FIELDS)


_SERVER_FIELDS: Final[Fields] = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {
        ".": LEAF,
        **{
            f"f:{name}": LEAF
            for name, kind in OBJECT_META.members.items()
            if isinstance(kind, Untracked)
        },
    },
}


def without(node: Type, value: Any, fields: Fields) -> Any:
    """Return `value` without the paths of a set; a container that becomes empty is replaced by
    null.
    """
    result = resolve_deduced(node, value)
    if isinstance(result, MapType) and isinstance(value, dict):
        return None if result.atomic or not value else _members_without(result, value, fields)
    if isinstance(result, ListType) and isinstance(value, list):
        return None if result.keys is None or not value else _items_without(result, value, fields)
    return value


def _is_removed(fields: Fields) -> bool:
    return not fields or "." in fields


def _members_without(node: MapType, value: dict[str, Any], fields: Fields) -> Any:
    result: dict[str, Any] = {}
    for name, inner in value.items():
        below = fields.get("f:" + name)
        if below is None:
            result[name] = inner
        elif not _is_removed(below):
            result[name] = without(node.type_of(name), inner, below)
    if len(result) == len(value) and all(result[name] is value[name] for name in result):
        return value
    return result or None


def _items_without(node: ListType, value: list[Any], fields: Fields) -> Any:
    result = []
    for item in value:
        key = _key_or_none(node, item)
        below = None if key is None else fields.get(key)
        if below is None:
            result.append(item)
        elif not _is_removed(below):
            result.append(without(node.element, item, below))
    if len(result) == len(value) and all(map(_is_same, result, value)):
        return value
    return result or None


def with_parent_paths(node: Type, fields: Fields) -> Fields:
    """Return the set with every declared parent field of its paths, which a set leaves out."""
    result: Fields = {}
    for key, below in fields.items():
        if key == ".":
            result[key] = below
            continue
        inner = _child_type(node, key)
        deeper = with_parent_paths(inner, below) if below else below
        declared = isinstance(node, MapType) and key[0] == "f" and node.declares(key[2:])
        result[key] = member(deeper) if declared and deeper else deeper
    return result


def _child_type(node: Type, key: str) -> Type:
    if key[0] == "f":
        result = node if isinstance(node, MapType) else resolve_deduced(node, {})
        return result.type_of(key[2:]) if isinstance(result, MapType) else node
    found_list = node if isinstance(node, ListType) else resolve_deduced(node, [])
    return found_list.element if isinstance(found_list, ListType) else node


def without_nulls(node: Type, before: Any, value: Any) -> Any:
    """Return `value` without null members that `before` did not have. In a map of strings (labels,
    the data of a Secret) a null becomes the empty string, as in Go's decoder.
    """
    if value is before or not isinstance(value, dict):
        if isinstance(value, list) and isinstance(before, list):
            element = node.element if isinstance(node, ListType) else DEDUCED
            return [without_nulls(element, None, item) for item in value]
        return value
    old: dict[str, Any] = before if isinstance(before, dict) else {}
    typed = node if isinstance(node, MapType) else _UNKNOWN
    result = {}
    for name, inner in value.items():
        if inner is not None:
            result[name] = without_nulls(typed.type_of(name), old.get(name), inner)
        elif typed.type_of(name) is STRING and not typed.declares(name):
            result[name] = ""
    unchanged = len(result) == len(value) and all(result[name] is value[name] for name in result)
    return value if unchanged else result


_UNKNOWN: Final = MapType({}, DEDUCED)
