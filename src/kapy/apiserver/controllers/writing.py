"""Writes of in-process controllers directly to the store, as kube-controller-manager.

A write is staged at once, so a store listener may write. Readers and watchers see it after the
commit.
"""

from __future__ import annotations

from typing import Final

from kapy.apiserver.metadata import born, stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.apply import Write

MANAGER: Final = "kube-controller-manager"


def made(plane: Plane, kind: Kind, namespace: str, document: Document) -> None:
    """Store a new object. The function takes over the document."""
    kind.strategy.default(document)
    write = Write(MANAGER, document["apiVersion"], stamp(plane.clock()))
    document = kind.schema.tracker.track(None, document, write)
    document = {**document, "metadata": {**document["metadata"]}}
    born(document, kind, namespace, plane.clock(), plane.rng)
    table = plane.table(kind)
    kind.strategy.prepare_create(document, table)
    plane.store.put(table, namespace, document["metadata"]["name"], document)


def changed(
    plane: Plane,
    kind: Kind,
    before: Document,
    after: Document,
    subresource: str = "",
    *,
    manager: str = MANAGER,
) -> None:
    """Store a new state of an object; `after` may share parts with `before`."""
    write = Write(manager, before["apiVersion"], stamp(plane.clock()), subresource)
    after = kind.schema.tracker.track(before, after, write)
    meta = {**after["metadata"]}
    plane.store.put(
        plane.table(kind), meta.get("namespace", ""), meta["name"], {**after, "metadata": meta}
    )


def removed(plane: Plane, kind: Kind, document: Document) -> None:
    """Delete an object without finalizers."""
    meta = document["metadata"]
    plane.store.delete(plane.table(kind), meta.get("namespace", ""), meta["name"], document)


def is_latest(plane: Plane, kind: Kind, document: Document) -> bool:
    """Report whether no newer state of an object is staged."""
    meta = document["metadata"]
    found = plane.table(kind).latest(meta.get("namespace", ""), meta["name"])
    return found is not None and (found["metadata"]["resourceVersion"] == meta["resourceVersion"])
