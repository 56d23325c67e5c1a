"""The sources of the objects of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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

NAME_LABEL = "cluster.x-k8s.io/cluster-name"


class Source(Protocol):
    """Reads the objects of a management cluster for a tree."""

    async def get(self, resource: Resource, key: Key) -> Document:
        """One object. Raises NotFound."""
        ...

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        """The objects with the cluster's label; none if the resource is not served."""
        ...

    async def referenced(self, reference: Document | None, namespace: str) -> Document | None:
        """The target of a contract-versioned reference (`apiGroup`, `kind`, `name`), or None."""
        ...


class ClientSource:
    """A source that reads from an API server; kinds of providers are found through discovery."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kinds = Kinds(client)

    async def get(self, resource: Resource, key: Key) -> Document:
        return await self._client.get(resource, key)

    async def of_cluster(self, resource: Resource, cluster: Key) -> Sequence[Document]:
        labels = f"{NAME_LABEL}={cluster.name}"
        try:
            return (await self._client.list(resource, cluster.namespace, labels=labels)).items
        except NotFound:
            return ()

    async def referenced(self, reference: Document | None, namespace: str) -> Document | None:
        if not reference or not reference.get("name"):
            return None
        resource = await self._kinds.preferred(reference["apiGroup"], reference["kind"])
        if resource is None:
            return None
        try:
            return await self._client.get(resource, Key(namespace, reference["name"]))
        except NotFound:
            return None
