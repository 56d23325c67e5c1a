"""What wakes the controllers of templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kapy.contract.fleet import own_life
from kapy.core.topology.owned import is_owned
from kapy.engine.cache import Change
from kapy.engine.controller import Mapper
from kapy.kube import Document, Key


def owned_life(change: Change) -> Iterable[Key]:
    """The beginning and the end of what a topology made, and the end of its pause."""
    if not is_owned(change.document):
        return ()
    old, new = change.old, change.new
    annotations = [(one or {}).get("metadata", {}).get("annotations") for one in (old, new)]
    if annotations[0] != annotations[1]:
        return (Key.of(change.document),)
    return own_life(change)


def of_unpaused(parts: Callable[[Key], Sequence[Document]]) -> Mapper:
    """Those parts of a Cluster whose end its pause was in the way of."""

    def keys(change: Change) -> Iterable[Key]:
        was = change.old is not None and change.old["spec"].get("paused")
        if not was or change.new is None or change.new["spec"].get("paused"):
            return ()
        return [Key.of(one) for one in parts(Key.of(change.new))]

    return keys
