"""A provider that knows nothing of kapy: it looks at documents, again and again, and writes what
its dialect says, as a program in any language would.

Its infrastructure lives in `Workloads`. It does nothing that no contract asks for.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from kapy._aio.clock import Clock
from kapy.api.times import stamp
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Conflict, NotFound
from kapy.kube.names import SECRETS, Resource
from tests.core.environment import kubeconfig_of
from tests.providers.scripted.dialects import (
    ADDRESS_TYPES,
    CREATED,
    INITIALIZED,
    PROVISIONED,
    Dialect,
)
from tests.providers.scripted.workloads import Workload, Workloads

FINALIZER: Final = "example.com/cloud"
CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
CLUSTERS: Final = Resource("cluster.x-k8s.io", "v1beta1", "clusters", "Cluster")
MACHINES: Final = Resource("cluster.x-k8s.io", "v1beta1", "machines", "Machine")
STEP: Final = 1.0
PORT: Final = 6443


def host_of(cluster: str) -> str:
    """Return the host name of a cluster's API server."""
    return f"{cluster}.example.com"


@dataclass
class Provider:
    """One provider's controllers, on one management server."""

    dialect: Dialect
    client: Client
    workloads: Workloads
    clock: Clock
    deleted: list[str] = field(default_factory=list)

    async def work(self) -> None:
        """Move every object one step further, for ever."""
        dialect = self.dialect
        moves = [(dialect.clusters, self._cluster), (dialect.machines, self._machine)]
        if dialect.own_plane:
            moves += [(dialect.configs, self._config), (dialect.control_planes, self._plane)]
        while True:
            for resource, move in moves:
                for document in await self._all(resource):
                    with suppress(Conflict, NotFound):
                        await self._step(resource, document, move)
            await asyncio.sleep(STEP)

    async def _step(self, resource: Resource, document: Document, move: Any) -> None:
        metadata = document["metadata"]
        if metadata.get("deletionTimestamp"):
            await self._let_go(resource, document)
            return
        if _is_done(document) and resource != self.dialect.control_planes:
            return
        cluster = await self._cluster_of(document)
        if cluster is None or cluster["spec"].get("paused"):
            return
        if FINALIZER not in (metadata.get("finalizers") or ()):
            finalizers = {"finalizers": [*(metadata.get("finalizers") or ()), FINALIZER]}
            patch = {"metadata": {**finalizers, "resourceVersion": metadata["resourceVersion"]}}
            document = await self.client.patch(resource, Key.of(document), patch)
        await move(document, cluster)

    async def _let_go(self, resource: Resource, document: Document) -> None:
        metadata = document["metadata"]
        if FINALIZER not in (metadata.get("finalizers") or ()):
            return
        if resource == self.dialect.machines and (where := self._workload(document)):
            await where.power_off(metadata["name"])
        self.deleted.append(resource.kind.removeprefix(self.dialect.name))
        finalizers = [finalizer for finalizer in metadata["finalizers"] if finalizer != FINALIZER]
        await self.client.patch(
            resource, Key.of(document), {"metadata": {"finalizers": finalizers}}
        )

    async def _cluster(self, document: Document, _: Document) -> None:
        """A network, and (without a control plane of our own) a load balancer."""
        name, dialect = document["metadata"]["labels"][CLUSTER_NAME], self.dialect
        self.workloads.at(host_of(name))  # nothing answers there yet
        if not dialect.own_plane:
            endpoint = {"controlPlaneEndpoint": {"host": host_of(name), "port": PORT}}
            await self._spec(dialect.clusters, document, endpoint)
        await self._status(
            dialect.clusters,
            document,
            **dialect.done(PROVISIONED),
            failureDomains=dialect.failure_domains,
            network="10.0.0.0/8",
            conditions=[self._ready("NetworkUp")],
        )

    async def _machine(self, document: Document, cluster: Document) -> None:
        """An instance, once there is a network, and boot data for it."""
        machine = await self._owner(MACHINES, document)
        if machine is None or not _infrastructure_is_there(cluster):
            return
        dialect, name = self.dialect, document["metadata"]["name"]
        if not machine["spec"]["bootstrap"].get("dataSecretName"):
            waits = self._condition("False", "WaitingForBootData", "no boot data yet")
            await self._status(dialect.machines, document, conditions=[waits])
            return
        provider_id = f"{dialect.name.lower()}:///{name}"
        await self._spec(dialect.machines, document, {"providerID": provider_id})
        addresses = [{"type": of, "address": f"{of.lower()}.{name}"} for of in ADDRESS_TYPES]
        placed = {}
        if dialect.contract == "v1beta2":
            placed = {"failureDomain": machine["spec"].get("failureDomain") or "edge"}
        await self._status(
            dialect.machines,
            document,
            **dialect.done(PROVISIONED),
            **placed,
            addresses=addresses,
            conditions=[self._ready("InstanceRuns")],
        )
        labels = machine["metadata"]["labels"]
        where = self._workload(document)
        assert where is not None
        await where.boot(
            name,
            provider_id,
            machine["spec"]["version"],
            control_plane="cluster.x-k8s.io/control-plane" in labels,
        )

    async def _config(self, document: Document, cluster: Document) -> None:
        """Boot data, once there is something to join."""
        if not _infrastructure_is_there(cluster):
            return
        dialect, name = self.dialect, document["metadata"]["name"]
        if await self._owner(MACHINES, document) is None:
            return
        await self._secret(_boot_data(document, cluster), document)
        await self._status(
            dialect.configs,
            document,
            **dialect.done(CREATED),
            dataSecretName=f"{name}-boot",
            conditions=[self._ready("DataMade")],
        )

    async def _plane(self, document: Document, cluster: Document) -> None:
        """A control plane that somebody else runs: no Machines, no Nodes."""
        if not _infrastructure_is_there(cluster):
            return
        dialect, spec = self.dialect, document["spec"]
        status = document.get("status") or {}
        if status.get("version") == spec["version"]:
            return
        name = cluster["metadata"]["name"]
        self.workloads.at(host_of(name)).answers = True
        endpoint = {"controlPlaneEndpoint": {"host": host_of(name), "port": PORT}}
        await self._spec(dialect.control_planes, document, endpoint)
        await self._secret(kubeconfig_of(name, host_of(name)), document)
        await self._status(
            dialect.control_planes,
            document,
            **dialect.done(INITIALIZED),
            **dialect.counts(spec["replicas"]),
            version=spec["version"],
            externalManagedControlPlane=True,
            conditions=[self._condition("True", "Running", "")],
        )

    # Helpers of the controllers.

    def _workload(self, document: Document) -> Workload | None:
        name = (document["metadata"].get("labels") or {}).get(CLUSTER_NAME)
        return self.workloads.at(host_of(name)) if name else None

    def _ready(self, reason: str) -> Document:
        return self._condition("True", reason, "")

    def _condition(self, status: str, reason: str, message: str) -> Document:
        return self.dialect.condition(status, reason, message, stamp(self.clock()))

    async def _all(self, resource: Resource) -> Sequence[Document]:
        return (await self.client.list(resource)).items

    async def _cluster_of(self, document: Document) -> Document | None:
        """The Cluster that owns the object, or whose label core has put on it."""
        labels = document["metadata"].get("labels") or {}
        if CLUSTER_NAME not in labels or not document["metadata"].get("ownerReferences"):
            return None
        return await self._get(CLUSTERS, labels[CLUSTER_NAME])

    async def _owner(self, resource: Resource, document: Document) -> Document | None:
        for reference in document["metadata"].get("ownerReferences") or ():
            if reference["kind"] == resource.kind:
                return await self._get(resource, reference["name"])
        return None

    async def _get(self, resource: Resource, name: str) -> Document | None:
        try:
            return await self.client.get(resource, Key("default", name))
        except NotFound:
            return None

    async def _spec(self, resource: Resource, document: Document, spec: Document) -> None:
        await self.client.patch(resource, Key.of(document), {"spec": spec})

    async def _status(self, resource: Resource, document: Document, **status: Any) -> None:
        patch = {"status": status}
        await self.client.patch(resource, Key.of(document), patch, subresource="status")

    async def _secret(self, secret: Document, owner: Document) -> None:
        """It goes with the object that it was made for."""
        metadata = owner["metadata"]
        ref = {key: owner[key] for key in ("apiVersion", "kind")}
        ref |= {key: metadata[key] for key in ("name", "uid")}
        secret["metadata"]["ownerReferences"] = [ref]
        with suppress(AlreadyExists):
            await self.client.create(SECRETS, secret)


def _boot_data(config: Document, cluster: Document) -> Document:
    value = base64.b64encode(config["spec"]["words"].encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{config['metadata']['name']}-boot",
            "namespace": "default",
            "labels": {CLUSTER_NAME: cluster["metadata"]["name"]},
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": value},
    }


def _is_done(document: Document) -> bool:
    status = document.get("status") or {}
    return bool(status.get("ready") or status.get("initialization"))


def _infrastructure_is_there(cluster: Document) -> bool:
    """As v1beta1 says it, which providers of that time read."""
    return bool((cluster.get("status") or {}).get("infrastructureReady"))
