"""Whether a server-side apply would change nothing, told from the object alone.

A controller that applies its full intent on every look would send mostly requests that change
nothing. The object says what it would find out: its values, and in `managedFields` what the
applier owns. No memory is needed, so a restarted program does not apply everything once more.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.foreign_json import decoded
from kapy.kube.patch.identity import identity

_IDENTITY: Final = frozenset({"name", "namespace", "uid"})
_MERGED: Final = ("annotations", "labels")


def is_settled(live: Document, intent: Document, manager: str) -> bool:
    """Whether `live` is what applying `intent` as `manager` (with force) would make of it.

    True only if `live` holds each value of the intent and the manager owns exactly the intent's
    fields: a field that it owned before and does not apply any more would have to go.
    """
    owned = _owned_by(live, manager)
    if owned is None:
        return False
    wanted = {key: value for key, value in intent.items() if key not in ("apiVersion", "kind")}
    # Servers do not keep empty labels and annotations, so nobody owns them.
    named = dict(owned.get("f:metadata") or {})
    metadata = {
        key: one
        for key, one in wanted["metadata"].items()
        if key not in _IDENTITY and (one or f"f:{key}" in named)
    }
    for key in _MERGED:
        # Those of others, who have some, stay: nothing of them is owned, and nothing applied.
        if metadata.get(key) == {} and named.get(f"f:{key}") == {}:
            del metadata[key], named[f"f:{key}"]
    owned = {key: one for key, one in owned.items() if key != "f:metadata"}
    if named:
        owned["f:metadata"] = named
    wanted["metadata"] = metadata
    if not metadata and not named:
        del wanted["metadata"]
    return not (wanted or owned) or _matches(owned, wanted, live)


def _owned_by(live: Document, manager: str) -> Document | None:
    for entry in live["metadata"].get("managedFields") or ():
        if (
            entry.get("manager") == manager
            and entry.get("operation") == "Apply"
            and not entry.get("subresource")
        ):
            fields: Document = entry.get("fieldsV1") or {}
            return fields
    return None


def _matches(owned: Document, wanted: Any, live: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(live, dict):
        return _map_matches(owned, wanted, live)
    if isinstance(wanted, list) and isinstance(live, list):
        return _list_matches(owned, wanted, live)
    return bool(wanted == live) and isinstance(wanted, bool) is isinstance(live, bool)


def _map_matches(owned: Document, wanted: Document, live: Document) -> bool:
    fields = len(owned) - ("." in owned)
    if not fields:
        return wanted == live  # owned as a whole
    if fields != len(wanted):
        return False
    for key, value in wanted.items():
        below = owned.get(f"f:{key}")
        if below is None or key not in live or not _matches(below, value, live[key]):
            return False
    return True


def _list_matches(owned: Document, wanted: list[Any], live: list[Any]) -> bool:
    items = {key: below for key, below in owned.items() if key != "."}
    if not items:
        return wanted == live  # owned as a whole
    if len(items) != len(wanted):
        return False
    mine, theirs = _Items(wanted), _Items(live)
    return all(_item_matches(path, below, mine, theirs) for path, below in items.items())


def _item_matches(path: str, owned: Document, mine: _Items, theirs: _Items) -> bool:
    kind, _, text = path.partition(":")
    if kind == "v":
        value = identity(decoded(text))
        return mine.has(value) and theirs.has(value)
    if kind != "k":
        return False
    keys = decoded(text)
    one, two = mine.of(keys), theirs.of(keys)
    return one is not None and two is not None and _map_matches(owned, one, two)


class _Items:
    """The items of a list by their values, and by each set of keys that is asked for."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._values: set[Hashable] | None = None
        self._known: dict[tuple[str, ...], dict[Hashable, Document]] = {}

    def has(self, value: Hashable) -> bool:
        if self._values is None:
            self._values = set(map(identity, self._items))
        return value in self._values

    def of(self, keys: Document) -> Document | None:
        """The first item with these values of its keys; an absent one is null."""
        names = tuple(keys)
        if names not in self._known:
            known = self._known[names] = {}
            for item in self._items:
                if isinstance(item, dict):
                    known.setdefault(identity([item.get(name) for name in names]), item)
        return self._known[names].get(identity([*keys.values()]))
