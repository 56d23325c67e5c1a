"""The strategic merge patch with which `kubectl apply` updates an object of a built-in kind.

Two differences make the patch: what `current` lacks of `modified`, and what of `original` is not in
`modified` any more. Lists with a merge key are compared item by item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.go_literals import go_text
from kapy.kube.patch.merge_patch import is_equal_json
from kapy.kube.patch.strategic_types import (
    DELETE_FROM,
    DIRECTIVE,
    ORDER,
    RETAIN,
    Field,
    PatchFailure,
    Types,
)

Object = Mapping[str, Any]
_PLAIN: Final = Field("")
"""A field that no struct knows: objects merge, lists are replaced."""


def strategic_three_way(
    original: Object,
    modified: Object,
    current: Object,
    structs: Mapping[str, Document],
    struct: str,
) -> Document:
    """Return the patch from `current` to `modified` that also removes what only `original` has.

    original: the last applied object. structs, struct: the facts about the kind, as for
    `kapy.kube.patch.strategic.apply`. Raises BadRequest for an item without its merge key.
    """
    types = Types(structs)
    removals = _Removals(types).maps(original, modified, Field(struct))
    additions = _Additions(types).maps(current, modified, Field(struct))
    return _join(removals, additions, Field(struct), types)


class _Lists(NamedTuple):
    """The parts of a patch for one list: changed items, deleted items and the order."""

    items: list[Any]
    deleted: list[Any]
    order: list[Any]


class _Difference:
    """Computes one of the two differences."""

    removes = False

    def __init__(self, types: Types) -> None:
        self._types = types

    def maps(self, before: Object, after: Object, of: Field) -> Document:
        """Return the patch between two objects. of: the field that contains them, which may have
        the strategy retainKeys.
        """
        patch: Document = {}
        for name, value in after.items():
            there = before.get(name)
            if name not in before or type(there) is not type(value):
                if not self.removes:
                    patch[name] = value
            elif isinstance(value, dict):
                self._inner(patch, name, there, value, _field(self._types, of.kind, name))
            elif isinstance(value, list):
                self._list(patch, name, there, value, _field(self._types, of.kind, name))
            elif not self.removes and not is_equal_json(there, value):
                patch[name] = value
        if self.removes:
            patch |= {name: None for name in before if name not in after}
        lost = any(item is not None and name not in after for name, item in before.items())
        names = sorted(name for name, value in after.items() if value is not None)
        if "retainKeys" in of.strategies and names and (patch or lost):
            patch[RETAIN] = names
        return patch

    def _inner(self, patch: Document, name: str, before: Any, after: Any, field: Field) -> None:
        if "replace" in field.strategies:
            if not self.removes:
                patch[name] = after
        elif inner := self.maps(before, after, field):
            patch[name] = inner

    def _list(self, patch: Document, name: str, before: Any, after: Any, field: Field) -> None:
        if "merge" not in field.strategies:
            if not self.removes and not is_equal_json(before, after):
                patch[name] = after
            return
        items = field._replace(kind=field.kind.removeprefix("[]"))
        lists = self._items(before, after, items)
        if lists.items:
            patch[name] = lists.items
        if lists.deleted:
            patch[f"{DELETE_FROM}/{name}"] = lists.deleted
        if lists.order:
            patch[f"{ORDER}/{name}"] = lists.order

    def _items(self, before: list[Any], after: list[Any], items: Field) -> _Lists:
        if not before:
            return _Lists([] if self.removes else after, [], [])
        if items.key:
            return self._keyed_items(before, after, items)
        there, wanted = {go_text(item) for item in before}, {go_text(item) for item in after}
        if self.removes:
            removal = {go_text(item): item for item in before if go_text(item) not in wanted}
            return _Lists([], [removal[key] for key in sorted(removal)], after if removal else [])
        new = [item for item in after if go_text(item) not in there]
        in_order = sorted(before, key=go_text)  # kubectl sorts the existing items first
        return _Lists(new, [], [] if is_equal_json(in_order, after) else after)

    def _keyed_items(self, before: list[Any], after: list[Any], items: Field) -> _Lists:
        there = {_key(element, items.key): element for element in before}
        wanted = {_key(element, items.key): element for element in after}
        patch: list[Any] = []
        for key, item in wanted.items():
            if key not in there:
                patch += [] if self.removes else [item]
            elif inner := self.maps(there[key], item, items):
                patch.append({**inner, items.key: item[items.key]})
        if self.removes:
            patch += [
                {DIRECTIVE: "delete", items.key: element[items.key]}
                for key, element in sorted(there.items())
                if key not in wanted
            ]
        moved = not self.removes and list(there) != list(wanted)
        order = [{items.key: value[items.key]} for value in wanted.values()]
        return _Lists(patch, [], order if patch or moved else [])


class _Additions(_Difference):
    """The part of the patch for items that are new or have changed."""


class _Removals(_Difference):
    """The part of the patch for items that are removed."""

    removes = True


def _join(removals: Document, additions: Document, of: Field, types: Types) -> Document:
    """Merge the patch of the removals and the patch of the additions."""
    patch = dict(removals)
    for name, value in additions.items():
        there = patch.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            patch[name] = _join(there, value, _field(types, of.kind, name), types)
        elif isinstance(there, list) and isinstance(value, list) and not name.startswith("$"):
            field = _field(types, of.kind, name)
            patch[name] = _join_lists(there, value, field, types, patch, additions, name)
        else:
            patch[name] = value
    return patch


def _join_lists(
    removals: list[Any],
    additions: list[Any],
    field: Field,
    types: Types,
    patch: Document,
    additions_patch: Document,
    name: str,
) -> list[Any]:
    items = field._replace(kind=field.kind.removeprefix("[]"))
    if not items.key:
        return additions
    result = {_key(removal, items.key): removal for removal in removals}
    for addition in additions:
        key = _key(addition, items.key)
        result[key] = _join(result[key], addition, items, types) if key in result else addition
    order = additions_patch.get(f"{ORDER}/{name}") or patch.get(f"{ORDER}/{name}") or []
    places = {_key(item, items.key): place for place, item in enumerate(order)}
    return sorted(
        result.values(), key=lambda value: places.get(_key(value, items.key), len(places))
    )


def _field(types: Types, kind: str, name: str) -> Field:
    if kind.startswith("{}"):
        return Field(kind[2:])
    try:
        return types.field(kind, name)
    except PatchFailure:
        return _PLAIN


def _key(item: Any, key: str) -> str:
    if not isinstance(item, dict) or key not in item:
        raise BadRequest(f"an item of a list has no {key}, by which its items are told apart")
    return go_text(item[key])
