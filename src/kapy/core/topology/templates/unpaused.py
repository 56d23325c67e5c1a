"""Mappers of the template controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kapy.contract.cluster_objects import on_create_or_delete
from kapy.core.topology.owned import is_owned
from kapy.engine.cache import Change
from kapy.engine.controller import Mapper
from kapy.kube import Document, Key


def map_to_owner(change: Change) -> Iterable[Key]:
    """Map creation, deletion and unpausing of a topology's object to its key."""
    if not is_owned(change.document):
        return ()
    old, new = change.old, change.new
    annotations = [(item or {}).get("metadata", {}).get("annotations") for item in (old, new)]
    if annotations[0] != annotations[1]:
        return (Key.of(change.document),)
    return on_create_or_delete(change)


def of_unpaused(parts: Callable[[Key], Sequence[Document]]) -> Mapper:
    """Return a mapper from an unpaused Cluster to its parts in deletion."""

    def keys(change: Change) -> Iterable[Key]:
        was = change.old is not None and change.old["spec"].get("paused")
        if not was or change.new is None or change.new["spec"].get("paused"):
            return ()
        return [Key.of(part) for part in parts(Key.of(change.new))]

    return keys
