"""A management cluster made of recorded objects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kapy.clusterctl.describe.source import NAME_LABEL
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import Resource


class RecordedSource:
    """Answers from a list of objects, by kind and name."""

    def __init__(self, objects: Sequence[Document]) -> None:
        self.objects = objects

    async def get(self, resource: Resource, key: Key) -> Document:
        for one in self.objects:
            if one["kind"] == resource.kind and Key.of(one) == key:
                return one
        raise NotFound(f'{resource.group_resource} "{key.name}" not found')

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        return [
            one
            for one in self.objects
            if one["kind"] == resource.kind
            and Key.of(one).namespace == cluster.namespace
            and one["metadata"].get("labels", {}).get(NAME_LABEL) == cluster.name
        ]

    async def referenced(self, reference: Document | None, namespace: str) -> Document | None:
        for one in self.objects:
            if reference and (one["kind"], Key.of(one)) == (
                reference["kind"],
                Key(namespace, reference["name"]),
            ):
                return one
        return None


def moments(objects: Sequence[Document]) -> list[datetime]:
    """When clusterctl may have run: within a minute of the last change, to half a second."""
    changes = [
        one["lastTransitionTime"]
        for each in objects
        for one in (each.get("status") or {}).get("conditions") or []
    ]
    last = datetime.fromisoformat(max(changes))
    return [last + timedelta(seconds=half / 2) for half in range(120)]
