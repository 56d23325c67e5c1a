"""The finalizer on objects of a topology: set at creation, removed at the end."""

from __future__ import annotations

from collections.abc import Callable

from kapy.client.client import Client
from kapy.contract.ownership import claim
from kapy.kube import Document
from kapy.kube.errors import NotFound
from kapy.kube.names import Resource


async def add_finalizer(
    client: Client, resource: Resource, document: Document, finalizer: str
) -> bool:
    """Add the finalizer, unless it is set or the object is in deletion. Return True if it was
    added.
    """

    def patch(document: Document) -> Document:
        metadata = document["metadata"]
        there = metadata.get("finalizers") or []
        if finalizer in there or metadata.get("deletionTimestamp"):
            return {}
        return _finalizers(metadata, [*there, finalizer])

    return await _change_finalizers(client, resource, document, patch)


async def remove_finalizer(
    client: Client, resource: Resource, document: Document, finalizer: str
) -> None:
    """Remove the finalizer; concurrent changes of other finalizers are preserved."""

    def patch(document: Document) -> Document:
        there = document["metadata"].get("finalizers") or []
        if finalizer not in there:
            return {}
        return _finalizers(document["metadata"], [item for item in there if item != finalizer])

    await _change_finalizers(client, resource, document, patch)


async def _change_finalizers(
    client: Client, resource: Resource, document: Document, patch: Callable[[Document], Document]
) -> bool:
    try:
        return await claim(client, resource, document, patch) is not document
    except NotFound:
        return True


def _finalizers(metadata: Document, finalizers: list[str]) -> Document:
    version = metadata["resourceVersion"]
    return {"metadata": {"finalizers": finalizers, "resourceVersion": version}}
