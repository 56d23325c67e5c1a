"""Writes of in-process controllers directly to the store, as kube-controller-manager.

A write is staged at once, so a store listener may write. Readers and watchers see it after the
commit.
"""

from __future__ import annotations

from typing import Final

from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.metadata import format_time, init_metadata
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.apply import Write

MANAGER: Final = "kube-controller-manager"


def create_object(server: ServerContext, kind: Kind, namespace: str, document: Document) -> None:
    """Store a new object. The function takes over the document."""
    kind.strategy.default(document)
    write = Write(MANAGER, document["apiVersion"], format_time(server.clock()))
    document = kind.schema.tracker.track(None, document, write)
    document = {**document, "metadata": {**document["metadata"]}}
    init_metadata(document, kind, namespace, server.clock(), server.rng)
    table = server.table(kind)
    kind.strategy.prepare_create(document, table)
    server.store.put(table, namespace, document["metadata"]["name"], document)


def update_object(
    server: ServerContext,
    kind: Kind,
    before: Document,
    after: Document,
    subresource: str = "",
    *,
    manager: str = MANAGER,
) -> None:
    """Store a new state of an object; `after` may share parts with `before`."""
    write = Write(manager, before["apiVersion"], format_time(server.clock()), subresource)
    after = kind.schema.tracker.track(before, after, write)
    meta = {**after["metadata"]}
    server.store.put(
        server.table(kind), meta.get("namespace", ""), meta["name"], {**after, "metadata": meta}
    )


def delete_object(server: ServerContext, kind: Kind, document: Document) -> None:
    """Delete an object without finalizers."""
    meta = document["metadata"]
    server.store.delete(server.table(kind), meta.get("namespace", ""), meta["name"], document)


def is_latest(server: ServerContext, kind: Kind, document: Document) -> bool:
    """Report whether no newer state of an object is staged."""
    meta = document["metadata"]
    result = server.table(kind).latest(meta.get("namespace", ""), meta["name"])
    return result is not None and (result["metadata"]["resourceVersion"] == meta["resourceVersion"])
