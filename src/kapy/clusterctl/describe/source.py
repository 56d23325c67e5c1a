"""The sources of the objects of a tree."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Final, Protocol, TypeAlias

from kapy.client.client import Client
from kapy.client.kinds import Kinds
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import Resource

CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
MACHINES = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")
MACHINE_SETS = Resource("cluster.x-k8s.io", "v1beta2", "machinesets", "MachineSet")
MACHINE_DEPLOYMENTS = Resource(
    "cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment"
)
MACHINE_POOLS = Resource("cluster.x-k8s.io", "v1beta2", "machinepools", "MachinePool")
RESOURCE_SET_BINDINGS = Resource(
    "addons.cluster.x-k8s.io", "v1beta2", "clusterresourcesetbindings", "ClusterResourceSetBinding"
)

SLICE: Final = 0.02
"""Seconds after which other tasks get their turn."""

NAME_LABEL = "cluster.x-k8s.io/cluster-name"


Pause: TypeAlias = Callable[[], Awaitable[None]]


class Source(Protocol):
    """Reads the objects of a management cluster for a tree."""

    async def get(self, resource: Resource, key: Key) -> Document:
        """Return one object. Raises NotFound."""
        ...

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        """Return the objects with the cluster's label; none if the resource is not served."""
        ...

    async def referenced(self, reference: Document | None, namespace: str) -> Document | None:
        """Return the target of a contract-versioned reference (`apiGroup`, `kind`, `name`), or
        None.
        """
        ...


class ClientSource:
    """A source that reads from an API server; kinds of providers are found through discovery."""

    def __init__(self, client: Client, kinds: Kinds | None = None) -> None:
        self._client = client
        self._kinds = kinds or Kinds(client)

    async def get(self, resource: Resource, key: Key) -> Document:
        return await self._client.get(resource, key)

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        labels = f"{NAME_LABEL}={cluster.name}"
        try:
            return (await self._client.list(resource, cluster.namespace, labels=labels)).items
        except NotFound:
            return ()

    async def referenced(self, reference: Document | None, namespace: str) -> Document | None:
        if not reference or not reference.get("name") or not reference.get("apiGroup"):
            return None
        resource = await self._kinds.preferred(reference["apiGroup"], reference["kind"])
        if resource is None:
            return None
        return await self.readable(resource, Key(namespace, reference["name"]))

    async def readable(self, resource: Resource, key: Key) -> Document | None:
        """Return an object, None if there is none."""
        try:
            return await self._client.get(resource, key)
        except NotFound:
            return None


class ListingSource(ClientSource):
    """A source for one large cluster: it lists the objects of each kind once, by the label of the
    cluster, instead of reading them one by one.

    pause: lets other tasks run; it is called in between on an event loop that is shared.
    """

    def __init__(
        self, client: Client, cluster: Key, kinds: Kinds | None = None, pause: Pause | None = None
    ) -> None:
        super().__init__(client, kinds)
        self._pause = pause
        self._cluster = cluster
        self._lists: dict[str, dict[str, Document]] = {}
        self._turn = perf_counter()

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:  # noqa: ARG002
        return list((await self._by_name(resource)).values())

    async def readable(self, resource: Resource, key: Key) -> Document | None:
        document = (await self._by_name(resource)).get(key.name)
        return document or await super().readable(resource, key)

    async def listed(self, resource: Resource) -> Sequence[Document]:
        """Return the objects with the label of the cluster."""
        return await super().of_cluster(resource, self._cluster)

    async def _by_name(self, resource: Resource) -> dict[str, Document]:
        if self._pause is not None and perf_counter() - self._turn > SLICE:
            await self._pause()
            self._turn = perf_counter()
        name = resource.group_resource
        if name not in self._lists:
            listed = await self.listed(resource)
            self._lists[name] = {item["metadata"]["name"]: item for item in listed}
        return self._lists[name]
