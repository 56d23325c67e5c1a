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
        for obj in self.objects:
            if obj["kind"] == resource.kind and Key.of(obj) == key:
                return obj
        raise NotFound(f'{resource.group_resource} "{key.name}" not found')

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        return [
            obj
            for obj in self.objects
            if obj["kind"] == resource.kind
            and Key.of(obj).namespace == cluster.namespace
            and obj["metadata"].get("labels", {}).get(NAME_LABEL) == cluster.name
        ]

    async def referenced(self, reference: Document | None, namespace: str) -> Document | None:
        for obj in self.objects:
            if reference and (obj["kind"], Key.of(obj)) == (
                reference["kind"],
                Key(namespace, reference["name"]),
            ):
                return obj
        return None


def moments(objects: Sequence[Document]) -> list[datetime]:
    """Possible times of clusterctl's run: each half second in the minute after the last change."""
    changes = [
        condition["lastTransitionTime"]
        for obj in objects
        for condition in (obj.get("status") or {}).get("conditions") or []
    ]
    last = datetime.fromisoformat(max(changes))
    return [last + timedelta(seconds=half / 2) for half in range(120)]
