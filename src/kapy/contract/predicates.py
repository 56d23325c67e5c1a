"""A predicate for changes that unblock another controller (spec, owners, deletion, initialization),
as opposed to changes of the status that only inform.

    controller.watch(machines, unblocking_only(owners), debounce=STATUS_DEBOUNCE)
    controller.watch(machines, owners, debounce=AGGREGATE_DEBOUNCE)

All other changes are conditions, counters and addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.engine.cache import Change
from kapy.engine.controller import Mapper
from kapy.kube import Document, Key


def unblocking_only(keys: Mapper) -> Mapper:
    """Wrap a mapper so that it ignores changes which unblock no other controller."""

    def of(change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if old is not None and new is not None and _unblocking_state(old) == _unblocking_state(new):
            return ()
        return keys(change)

    return of


def _unblocking_state(document: Document) -> Any:
    """Return the fields that other controllers wait for, of all contracts, versions and
    core kinds.
    """
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
