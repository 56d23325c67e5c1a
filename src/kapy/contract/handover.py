"""Of all changes those that somebody waits for: what lets another controller go on.

    controller.watch(machines, awaited(owners), debounce=STATUS_DEBOUNCE)
    controller.watch(machines, owners, debounce=AGGREGATE_DEBOUNCE)

What is left is told, not handed over: conditions, counters, addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.engine.cache import Change
from kapy.engine.controller import Mapper
from kapy.kube import Document, Key


def awaited(keys: Mapper) -> Mapper:
    """As `keys`, but only of changes by which an object hands something over."""

    def of(change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if old is not None and new is not None and _given(old) == _given(new):
            return ()
        return keys(change)

    return of


def _given(document: Document) -> Any:
    """What others wait for, of objects of every contract and version, and of our own kinds."""
    metadata, status = document["metadata"], document.get("status") or {}
    return (
        document.get("spec"),
        metadata.get("labels"),
        metadata.get("annotations"),
        metadata.get("ownerReferences"),
        bool(metadata.get("deletionTimestamp")),
        status.get("initialization"),
        status.get("nodeRef"),
        status.get("ready"),
        status.get("initialized"),
        status.get("dataSecretName"),
    )
