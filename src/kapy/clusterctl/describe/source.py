"""Where the objects of a tree come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kapy.client.client import Client
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

NAME_LABEL = "cluster.x-k8s.io/cluster-name"


class Source(Protocol):
    """A management cluster, as far as a tree needs it."""

    async def get(self, resource: Resource, key: Key) -> Document:
        """One object. Raises NotFound."""
        ...

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        """The objects labelled as the cluster's; none where the resource is not served."""
        ...

    async def referred(self, reference: Document | None, namespace: str) -> Document | None:
        """What a contract-versioned reference (`apiGroup`, `kind`, `name`) points at, or None."""
        ...


class ClientSource:
    """A source that asks an API server; foreign kinds are found through discovery."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._groups: dict[str, list[Resource]] = {}

    async def get(self, resource: Resource, key: Key) -> Document:
        return await self._client.get(resource, key)

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        labels = f"{NAME_LABEL}={cluster.name}"
        try:
            return (await self._client.list(resource, cluster.namespace, labels=labels)).items
        except NotFound:
            return ()

    async def referred(self, reference: Document | None, namespace: str) -> Document | None:
        if not reference or not reference.get("name"):
            return None
        try:
            for resource in await self._served(reference["apiGroup"]):
                if resource.kind == reference["kind"]:
                    return await self._client.get(resource, Key(namespace, reference["name"]))
        except NotFound:
            return None
        return None

    async def _served(self, group: str) -> list[Resource]:
        """The resources of a group in the version that the server prefers."""
        if group not in self._groups:
            found = await self._client.raw("GET", f"/apis/{group}")
            version = found["preferredVersion"]["version"]
            listed = await self._client.raw("GET", f"/apis/{group}/{version}")
            self._groups[group] = [
                Resource(group, version, one["name"], one["kind"], one["namespaced"])
                for one in listed["resources"]
                if "/" not in one["name"]
            ]
        return self._groups[group]
