"""Three-way merge of documents: carry local changes over to a newer state of an object.

`base` is the state that was read, `ours` the changed copy, `theirs` the newest state. Local changes
win; everything else is theirs. Three lists have several writers and are merged entry by entry:
finalizers as a set, owner references by uid, conditions by type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.patch.merge_patch import is_equal_json

_ABSENT: Final = object()


def _itself(entry: Any) -> Any:
    return entry


def _uid(entry: Any) -> Any:
    return entry["uid"]


def _type(entry: Any) -> Any:
    return entry["type"]


_SHARED_LISTS: Final[dict[str, Callable[[Any], Any]]] = {
    "finalizers": _itself,
    "ownerReferences": _uid,
    "conditions": _type,
}


def touches_shared_list(patch: Document) -> bool:
    """Return whether a merge patch replaces a list that has several writers."""
    return any(
        key in _SHARED_LISTS or (isinstance(value, dict) and touches_shared_list(value))
        for key, value in patch.items()
    )


def three_way_merge(base: Document, ours: Document, theirs: Document) -> Document:
    """Return `theirs` with the changes that lead from `base` to `ours`; parts are shared with all
    three.
    """
    merged: Document = {}
    for key in {**theirs, **ours}:
        value = _member(
            key, base.get(key, _ABSENT), ours.get(key, _ABSENT), theirs.get(key, _ABSENT)
        )
        if value is not _ABSENT:
            merged[key] = value
    return merged


def _member(key: str, base: Any, ours: Any, theirs: Any) -> Any:
    if theirs is _ABSENT and base is _ABSENT:
        return ours
    if is_equal_json(base, ours):
        return theirs
    if is_equal_json(base, theirs):
        return ours
    present = [item for item in (base, ours, theirs) if item is not _ABSENT]
    if all(isinstance(item, dict) for item in present):
        merged = three_way_merge(
            *({} if item is _ABSENT else item for item in (base, ours, theirs))
        )
        return merged if merged or (ours is not _ABSENT and theirs is not _ABSENT) else _ABSENT
    identity = _SHARED_LISTS.get(key)
    if identity is not None:
        lists = [[] if item is _ABSENT or item is None else item for item in (base, ours, theirs)]
        if all(isinstance(item, list) for item in lists):
            return _entries(identity, *lists) or _ABSENT
    return ours


def _entries(
    identity: Callable[[Any], Any], base: list[Any], ours: list[Any], theirs: list[Any]
) -> list[Any]:
    """Merge the entries of a list.

    The result has the entries of `theirs` in their order, then the entries that `ours` added.
    """
    was, mine = ({identity(item): item for item in part} for part in (base, ours))
    merged = []
    for entry in theirs:
        name = identity(entry)
        if name not in mine:
            if name not in was:
                merged.append(entry)
        else:
            merged.append(entry if is_equal_json(was.get(name), mine[name]) else mine[name])
    present = {identity(their) for their in theirs}
    # An entry that the other writer removed is only restored if this program changed it.
    merged += [
        entry
        for name, entry in mine.items()
        if name not in present and not is_equal_json(was.get(name), entry)
    ]
    return merged
