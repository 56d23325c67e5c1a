"""A management plane under load, and clusters for it made from the sample."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Costs
from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.cluster_progress import is_complete
from kapy.apps.manifests import sample
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.client.intercept import RequestCounter
from kapy.client.kinds import Kinds
from kapy.clusterctl.describe.source import CLUSTERS
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN
from kapy.kube.names import Resource

SAMPLE: Final = "capybara"
PATIENCE: Final = 3600.0
UPSTREAM_DELAYS: Final = {
    "vm": {"startupDuration": "10s", "startupJitter": "0.2"},
    "node": {"startupDuration": "2s", "startupJitter": "0.2"},
    "apiServer": {"startupDuration": "2s", "startupJitter": "0.2"},
    "etcd": {"startupDuration": "2s", "startupJitter": "0.2"},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of cluster. delays: "zero" or "upstream"; keys: "RSA-2048" or "ECDSA-P256"."""

    control_planes: int = 1
    workers: int = 0
    delays: str = "zero"
    keys: str = "RSA-2048"

    def objects(self, name: str) -> list[Document]:
        """The objects of a cluster of that name."""
        text = json.dumps(sample()).replace(SAMPLE, name)
        objects: list[Document] = json.loads(text)
        if not self.workers:
            objects = [obj for obj in objects if "-md-0" not in obj["metadata"]["name"]]
        return [self._changed(obj) for obj in objects]

    def _changed(self, document: Document) -> Document:
        spec = document["spec"]
        match document["kind"]:
            case "KubeadmControlPlane":
                spec["replicas"] = self.control_planes
                configuration = spec["kubeadmConfigSpec"].setdefault("clusterConfiguration", {})
                configuration["encryptionAlgorithm"] = self.keys
            case "MachineDeployment":
                spec["replicas"] = self.workers
            case "DevMachineTemplate" if self.delays == "upstream":
                backend = spec["template"]["spec"]["backend"]["inMemory"]
                for part in backend:
                    backend[part] = {"provisioning": UPSTREAM_DELAYS[part]}
        return document


class Fleet:
    """A running plane and a driver that posts objects and sees what becomes of them."""

    def __init__(self, plane: ManagementPlane) -> None:
        self.plane = plane
        self._transport = RequestCounter(plane.server.transport(ADMIN))
        self.client = Client(self._transport, field_manager="driver")
        self._kinds = Kinds(self.client)
        own: Any = plane.runtime.client.transport
        self.costs = Costs(own.counts, self._transport.counts)

    async def post(self, shape: Shape, names: Iterable[str]) -> dict[str, float]:
        """Create clusters; answers when each was posted."""
        posted = {}
        for name in names:
            for document in shape.objects(name):
                await self.post_one(document)
            posted[name] = time.perf_counter()
        return posted

    async def post_one(self, document: Document) -> None:
        """Create one object."""
        await self.client.create(await self._kinds.of(document), document)

    async def create(self, shape: Shape, names: Sequence[str]) -> list[float]:
        """Create clusters at once and wait for all; answers the seconds that each one took."""
        came: dict[str, float] = {}
        wanted = set(names)

        def is_as_wanted(document: Document) -> bool:
            name = document["metadata"]["name"]
            if name in wanted and name not in came and is_complete(document):
                came[name] = time.perf_counter()
            return len(came) == len(wanted)

        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(self.until(CLUSTERS, is_as_wanted))
            posted = await self.post(shape, names)
            await waiting
        return [came[name] - posted[name] for name in names]

    async def delete(self, names: Sequence[str]) -> None:
        """Delete clusters at once and wait until they are gone."""
        remaining = set(names)

        def is_gone(_: Document) -> bool:
            return not remaining

        # The list comes before the first deletion: it would not have what is gone already.
        version = (await self.client.list(CLUSTERS)).resource_version
        async with asyncio.TaskGroup() as group:
            following = self.follow(CLUSTERS, version, is_gone, deleted=remaining.discard)
            waiting = group.create_task(following)
            for name in names:
                await self.client.delete(CLUSTERS, Key("default", name))
            await waiting

    async def until(self, resource: Resource, holds: Callable[[Document], bool]) -> None:
        """Watch a resource until `holds` of one of its objects."""
        listed = await self.client.list(resource)
        held = [holds(document) for document in listed.items]  # all of them: it may be counting
        if not any(held):
            await self.follow(resource, listed.resource_version, holds)

    async def follow(
        self,
        resource: Resource,
        version: str,
        holds: Callable[[Document], bool],
        *,
        deleted: Callable[[str], Any] = lambda _: None,
    ) -> None:
        """Watch from a version until `holds` of an object. deleted: is called with the name of each
        deleted object.
        """
        async with asyncio.timeout(PATIENCE):
            async with self.client.watch(resource, resource_version=version) as events:
                async for event in events:
                    if event.type == "DELETED":
                        deleted(event.document["metadata"]["name"])
                    if event.type != "BOOKMARK" and holds(event.document):
                        return
        raise RuntimeError(f"the watch of {resource.plural} ended")


@asynccontextmanager
async def fleet(processes: int = 1, data: Path | None = None) -> AsyncIterator[Fleet]:
    """A plane as `kapy up` runs it: on disk, listening, controllers in its own process, or in
    several. data: its folder, None for a temporary one.
    """
    with tempfile.TemporaryDirectory(prefix="kapy-bench-") as folder:
        settings = Settings(data=data or Path(folder), serving=Serving(), processes=processes)
        async with management_plane(settings, clock=system_clock) as plane:
            yield Fleet(plane)


def names(number: int) -> list[str]:
    """Names of clusters."""
    return [f"herd-{item:04}" for item in range(number)]
