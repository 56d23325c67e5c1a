"""Reads the objects of one cluster with the rights of the viewer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from kapy.clusterctl.describe import Node, Options, discover
from kapy.clusterctl.describe.source import (
    MACHINE_DEPLOYMENTS,
    MACHINE_POOLS,
    MACHINE_SETS,
    MACHINES,
    ListingSource,
)
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden, NotFound
from kapy.kube.names import Resource
from kapy.ui.documents import part
from kapy.ui.viewers import Viewer

T = TypeVar("T")

EVENTS: Final = Resource("", "v1", "events", "Event")
CLASSES: Final = Resource("cluster.x-k8s.io", "v1beta2", "clusterclasses", "ClusterClass")
MOST_EVENTS: Final = 200
"""Events of one cluster that are shown: the newest."""
EVENT_PAGE: Final = 250
"""Events of a namespace that are read at once, so that other requests are answered in between."""
EVENT_PAGES: Final = 20
MANY_MACHINES: Final = 60
"""Machines from which on the tree shows machines in the same state as one row."""


class PageSource(ListingSource):
    """A source of `describe` that notes what the viewer may not read.

    hidden: the plurals of resources that the viewer may not read.
    """

    def __init__(self, viewer: Viewer, cluster: Key) -> None:
        super().__init__(viewer.client, cluster, viewer.kinds, partial(asyncio.sleep, 0))
        self.hidden: set[str] = set()

    async def listed(self, resource: Resource) -> Sequence[Document]:
        """Return the objects of the cluster; none if the viewer may not list them."""
        return await self.allowed(resource, super().listed(resource)) or ()

    async def readable(self, resource: Resource, key: Key) -> Document | None:
        """Return an object, None if there is none or the viewer may not read it."""
        return await self.allowed(resource, super().readable(resource, key))

    async def allowed(self, resource: Resource, reading: Awaitable[T]) -> T | None:
        """Return the object, None if there is none or the viewer may not read it."""
        try:
            return await reading
        except NotFound:
            return None
        except Forbidden:
            self.hidden.add(resource.plural)
            return None


@dataclass(slots=True)
class ClusterObjects:
    """The objects of one cluster that the viewer may read.

    has_more_events: the namespace has more events than were read. hidden: the plurals of resources
    that the viewer may not read.
    """

    key: Key
    tree: Node
    machines: Sequence[Document]
    machine_sets: Sequence[Document]
    deployments: Sequence[Document]
    pools: Sequence[Document]
    cluster_class: Document | None = None
    events: Sequence[Document] = ()
    has_more_events: bool = False
    hidden: Sequence[str] = ()

    @property
    def cluster(self) -> Document:
        """The Cluster itself."""
        assert self.tree.document is not None
        return self.tree.document

    def documents(self) -> list[Document]:
        """Return all documents that a page is computed from."""
        nodes = (*(node.document for node in self.tree.walk()), self.cluster_class)
        tree = [document for document in nodes if document is not None]
        return [*tree, *self.machines, *self.machine_sets, *self.deployments, *self.pools]

    @property
    def control_plane(self) -> Document | None:
        """The object of the control plane."""
        nodes = (node.document for node in self.tree.walk() if node.role == "ControlPlane")
        return next(nodes, None)


async def read_cluster(viewer: Viewer, key: Key, *, show_all: bool) -> ClusterObjects:
    """Read a cluster, when it is its turn. Raises NotFound, Forbidden, ApiError, Unreachable."""
    async with viewer.turns:
        return await _read(viewer, key, show_all=show_all)


async def _read(viewer: Viewer, key: Key, *, show_all: bool) -> ClusterObjects:
    source = PageSource(viewer, key)
    machines = await source.of_cluster(MACHINES, key)
    groups = not show_all and len(machines) >= MANY_MACHINES
    options = Options(show_machine_sets=not groups, echo=show_all, grouping=groups)
    tree = await discover(source, key, options)
    objects = ClusterObjects(
        key=key,
        tree=tree,
        machines=machines,
        machine_sets=await source.of_cluster(MACHINE_SETS, key),
        deployments=await source.of_cluster(MACHINE_DEPLOYMENTS, key),
        pools=await source.of_cluster(MACHINE_POOLS, key),
    )
    objects.cluster_class = await _class_of(source, objects.cluster)
    objects.events = await _events(viewer, source, objects)
    objects.hidden = sorted(source.hidden)
    return objects


async def _class_of(source: PageSource, cluster: Document) -> Document | None:
    reference = part(cluster, "spec", "topology", "classRef")
    if not reference.get("name"):
        return None
    namespace = reference.get("namespace") or cluster["metadata"]["namespace"]
    key = Key(namespace, reference["name"])
    return await source.allowed(CLASSES, source.get(CLASSES, key))


async def _events(viewer: Viewer, source: PageSource, objects: ClusterObjects) -> list[Document]:
    """Return the newest events about objects of the cluster, the newest first."""
    uids = {document["metadata"].get("uid") for document in objects.documents()}
    own: list[Document] = []
    query = {"limit": str(EVENT_PAGE)}
    for _ in range(EVENT_PAGES):
        reading = viewer.client.raw("GET", EVENTS.path(objects.key.namespace), query)
        if (listed := await source.allowed(EVENTS, reading)) is None:
            return []
        own += (
            event
            for event in listed.get("items") or ()
            if (event.get("involvedObject") or {}).get("uid") in uids
        )
        query["continue"] = str(listed["metadata"].get("continue") or "")
        if not query["continue"]:
            break
        await asyncio.sleep(0)
    objects.has_more_events = bool(query["continue"])
    return sorted(own, key=time_of_event, reverse=True)[:MOST_EVENTS]


def time_of_event(event: Document) -> str:
    """Return the time at which an event happened last."""
    series = (event.get("series") or {}).get("lastObservedTime")
    times = (series, event.get("lastTimestamp"), event.get("eventTime"))
    created = event["metadata"].get("creationTimestamp")
    return str(next((time for time in (*times, created) if time), ""))
