"""The finalizer of what a topology made: there from the beginning, gone as the last thing."""

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
    """Put it on, unless it is there or too late for that. True if it was put on."""

    def patch(one: Document) -> Document:
        metadata = one["metadata"]
        there = metadata.get("finalizers") or []
        if finalizer in there or metadata.get("deletionTimestamp"):
            return {}
        return _finalizers(metadata, [*there, finalizer])

    return await _claimed(client, resource, document, patch)


async def remove_finalizer(
    client: Client, resource: Resource, document: Document, finalizer: str
) -> None:
    """Take it off; others may take off theirs at the same time."""

    def patch(one: Document) -> Document:
        there = one["metadata"].get("finalizers") or []
        if finalizer not in there:
            return {}
        return _finalizers(one["metadata"], [each for each in there if each != finalizer])

    await _claimed(client, resource, document, patch)


async def _claimed(
    client: Client, resource: Resource, document: Document, patch: Callable[[Document], Document]
) -> bool:
    try:
        return await claim(client, resource, document, patch) is not document
    except NotFound:
        return True


def _finalizers(metadata: Document, finalizers: list[str]) -> Document:
    version = metadata["resourceVersion"]
    return {"metadata": {"finalizers": finalizers, "resourceVersion": version}}
