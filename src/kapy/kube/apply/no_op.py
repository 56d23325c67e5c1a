"""Detects from an object alone that a server-side apply would not change it.

A controller that applies its full intent at every reconcile would mostly send requests without
effect. The object contains all that decides it: its values, and its managedFields with the
manager's entry.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.foreign_json import decode_json
from kapy.kube.patch.identity import identity

_IDENTITY: Final = frozenset({"name", "namespace", "uid"})
_MERGED: Final = ("annotations", "labels")


def is_no_op(live: Document, intent: Document, manager: str) -> bool:
    """Return whether applying `intent` as `manager` (with force) would leave `live` unchanged.

    True only if `live` has each value of the intent, and the manager owns exactly the intent's
    fields: a field that it owned before and no longer applies would be removed.
    """
    owned = _owned_fields(live, manager)
    if owned is None:
        return False
    wanted = {key: value for key, value in intent.items() if key not in ("apiVersion", "kind")}
    # Servers do not keep empty labels and annotations, so nobody owns them.
    named = dict(owned.get("f:metadata") or {})
    metadata = {
        key: value
        for key, value in wanted["metadata"].items()
        if key not in _IDENTITY and (value or f"f:{key}" in named)
    }
    for key in _MERGED:
        # Labels and annotations of other managers stay, since none are owned and none are applied.
        if metadata.get(key) == {} and named.get(f"f:{key}") == {}:
            del metadata[key], named[f"f:{key}"]
    owned = {key: value for key, value in owned.items() if key != "f:metadata"}
    if named:
        owned["f:metadata"] = named
    wanted["metadata"] = metadata
    if not metadata and not named:
        del wanted["metadata"]
    return not (wanted or owned) or _matches(owned, wanted, live)


def _owned_fields(live: Document, manager: str) -> Document | None:
    for entry in live["metadata"].get("managedFields") or ():
        if (
            entry.get("manager") == manager
            and entry.get("operation") == "Apply"
            and not entry.get("subresource")
        ):
            fields: Document = entry.get("fieldsV1") or {}
            return fields
    return None


def _matches(owned: Document, intended: Any, live: Any) -> bool:
    if isinstance(intended, dict) and isinstance(live, dict):
        return _map_matches(owned, intended, live)
    if isinstance(intended, list) and isinstance(live, list):
        return _list_matches(owned, intended, live)
    return bool(intended == live) and isinstance(intended, bool) is isinstance(live, bool)


def _map_matches(owned: Document, intended: Document, live: Document) -> bool:
    fields = len(owned) - ("." in owned)
    if not fields:
        return intended == live  # owned as one field
    if fields != len(intended):
        return False
    for key, value in intended.items():
        below = owned.get(f"f:{key}")
        if below is None or key not in live or not _matches(below, value, live[key]):
            return False
    return True


def _list_matches(owned: Document, intended: list[Any], live: list[Any]) -> bool:
    items = {key: below for key, below in owned.items() if key != "."}
    if not items:
        return intended == live  # owned as one field
    if len(items) != len(intended):
        return False
    mine, theirs = _ListIndex(intended), _ListIndex(live)
    return all(_item_matches(path, below, mine, theirs) for path, below in items.items())


def _item_matches(path: str, owned: Document, intended: _ListIndex, current: _ListIndex) -> bool:
    kind, _, text = path.partition(":")
    if kind == "v":
        value = identity(decode_json(text))
        return intended.has(value) and current.has(value)
    if kind != "k":
        return False
    keys = decode_json(text)
    item, two = intended.of(keys), current.of(keys)
    return item is not None and two is not None and _map_matches(owned, item, two)


class _ListIndex:
    """The items of a list, indexed by value and by sets of keys."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._values: set[Hashable] | None = None
        self._known: dict[tuple[str, ...], dict[Hashable, Document]] = {}

    def has(self, value: Hashable) -> bool:
        if self._values is None:
            self._values = set(map(identity, self._items))
        return value in self._values

    def of(self, keys: Document) -> Document | None:
        """Return the first item with these key values; an absent key counts as null."""
        names = tuple(keys)
        if names not in self._known:
            by_key = self._known[names] = {}
            for item in self._items:
                if isinstance(item, dict):
                    by_key.setdefault(identity([item.get(name) for name in names]), item)
        return self._known[names].get(identity([*keys.values()]))
