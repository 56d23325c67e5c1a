"""A substitute for the core controllers, whose steps a test triggers one by one."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import BOOTSTRAP_GROUP, Label
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS, Resource

KUBERNETES_VERSION: Final = "v1.34.0"
"""The default Kubernetes version of machines."""
_NOBODY: Final = "infrastructure.cluster.x-k8s.io"


class FakeCore:
    """Writes what the core controllers would write, in one namespace.

    resource_of: returns the resource of a provider's object. labels: added to every object that is
    created here.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        resource_of: Callable[[Document], Resource],
        version: str = KUBERNETES_VERSION,
    ) -> None:
        self.client = client
        self.namespace = namespace
        self.version = version
        self._resource_of = resource_of
        self.labels: dict[str, str] = {}

    async def cluster(
        self, name: str, infra: Document | None = None, *, provisioned: bool = False, **spec: Any
    ) -> Document:
        """Create a Cluster, and its infrastructure as a user does; then set its owner as core
        does.
        """
        spec = {"clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}}, **spec}
        if infra is not None:
            spec["infrastructureRef"] = reference(infra)
        elif not spec.keys() & {"infrastructureRef", "controlPlaneRef"}:  # one must be set
            nobodys = {"apiGroup": _NOBODY, "kind": "NobodysCluster", "name": name}
            spec["infrastructureRef"] = nobodys
        document = self._new(Cluster.RESOURCE, name, {}, spec)
        cluster = await self.client.create(Cluster.RESOURCE, document)
        if infra is not None:
            await self.create_owned(infra, cluster, {Label.CLUSTER_NAME: name})
        if provisioned:
            await self.cluster_provisioned(name)
        return cluster

    async def cluster_provisioned(self, name: str) -> None:
        """Mark the infrastructure of a cluster as provisioned, so that its machines start."""
        status = {"status": {"initialization": {"infrastructureProvisioned": True}}}
        await self.client.patch(Cluster.RESOURCE, self.key(name), status, subresource="status")

    async def machine(
        self,
        cluster: str,
        name: str,
        infra: Document,
        *,
        control_plane: bool = False,
        version: str = "",
        bootstrap_data: bytes | None = None,
        owner: Document | None = None,
        **spec: Any,
    ) -> Document:
        """Create a Machine and its infrastructure, which gets the Machine's name.

        owner: the owner of the Machine, for tests that need one. version: the Kubernetes version,
        "" for the version of all machines.
        """
        labels = {Label.CLUSTER_NAME: cluster}
        if control_plane:
            labels[Label.CONTROL_PLANE] = ""
        infra = {**infra, "metadata": {**infra.get("metadata", {}), "name": name}}
        spec = {
            "clusterName": cluster,
            "version": version or self.version,
            "bootstrap": _bootstrapped_by(name),
            "infrastructureRef": reference(infra),
            **spec,
        }
        document = self._new(Machine.RESOURCE, name, labels, spec)
        if owner is not None:
            document["metadata"]["ownerReferences"] = [owned_by(owner)]
        machine = await self.client.create(Machine.RESOURCE, document)
        await self.create_owned(infra, machine, labels, controller=True)
        if bootstrap_data is not None:
            await self.bootstrap(cluster, name, bootstrap_data)
        return machine

    async def booting_machine(
        self, cluster: str, name: str, config: Document, *, owner: Document | None = None
    ) -> Document:
        """Create a control plane Machine with a BootstrapConfig, which gets the Machine's name.

        The infrastructure that the Machine refers to does not exist.
        """
        config = {**config, "metadata": {**config.get("metadata", {}), "name": name}}
        labels = {Label.CLUSTER_NAME: cluster, Label.CONTROL_PLANE: ""}
        spec = {
            "clusterName": cluster,
            "version": self.version,
            "bootstrap": {"configRef": reference(config)},
            "infrastructureRef": {"apiGroup": _NOBODY, "kind": "NobodysMachine", "name": name},
        }
        document = self._new(Machine.RESOURCE, name, labels, spec)
        if owner is not None:
            document["metadata"]["ownerReferences"] = [owned_by(owner)]
        machine = await self.client.create(Machine.RESOURCE, document)
        await self.create_owned(config, machine, labels, controller=True)
        return machine

    async def bootstrap(self, cluster: str, machine: str, data: bytes) -> None:
        """Store the bootstrap data of a Machine in a Secret, as a bootstrap provider does."""
        await self._bootstrap_data(cluster, machine, data)
        patch = {"spec": {"bootstrap": {"dataSecretName": machine}}}
        await self.client.patch(Machine.RESOURCE, self.key(machine), patch)

    async def machine_pool(
        self,
        cluster: str,
        name: str,
        infra: Document,
        *,
        replicas: int = 1,
        owner: Document | None = None,
        **spec: Any,
    ) -> Document:
        """Create a MachinePool and its infrastructure, which gets the pool's name."""
        infra = {**infra, "metadata": {**infra.get("metadata", {}), "name": name}}
        labels = {Label.CLUSTER_NAME: cluster}
        template: Document = {"clusterName": cluster, "version": self.version}
        template |= {"bootstrap": _bootstrapped_by(name), "infrastructureRef": reference(infra)}
        spec = {
            "clusterName": cluster,
            "replicas": replicas,
            "template": {"spec": template},
            **spec,
        }
        document = self._new(MachinePool.RESOURCE, name, labels, spec)
        if owner is not None:
            document["metadata"]["ownerReferences"] = [owned_by(owner)]
        pool = await self.client.create(MachinePool.RESOURCE, document)
        await self.create_owned(infra, pool, labels, controller=True)
        return pool

    async def pool_bootstrap(self, cluster: str, pool: str, data: bytes) -> None:
        """Store the bootstrap data of a MachinePool in a Secret, as a bootstrap provider does."""
        await self._bootstrap_data(cluster, pool, data)
        patch = {"spec": {"template": {"spec": {"bootstrap": {"dataSecretName": pool}}}}}
        await self.client.patch(MachinePool.RESOURCE, self.key(pool), patch)

    async def create_owned(
        self,
        document: Document,
        owner: Document,
        labels: dict[str, str],
        *,
        controller: bool = False,
    ) -> Document:
        """Create a provider's object as a user does, then set its owner and labels as core does."""
        resource = self._resource_of(document)
        metadata = {**document["metadata"], "namespace": self.namespace}
        created = await self.client.create(resource, {**document, "metadata": metadata})
        owned = owned_by(owner, controller=controller)
        patch = {"metadata": {"ownerReferences": [owned], "labels": {**self.labels, **labels}}}
        return await self.client.patch(resource, Key.of(created), patch)

    def key(self, name: str) -> Key:
        """Return the key of the object with that name."""
        return Key(self.namespace, name)

    async def _bootstrap_data(self, cluster: str, name: str, data: bytes) -> None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "cluster.x-k8s.io/secret",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {Label.CLUSTER_NAME: cluster},
            },
            "data": {
                "value": b64encode(data).decode(),
                "format": b64encode(b"cloud-config").decode(),
            },
        }
        await self.client.create(SECRETS, secret)

    def _new(self, kind: Resource, name: str, labels: dict[str, str], spec: Document) -> Document:
        metadata: Document = {"name": name, "namespace": self.namespace}
        if labels := {**self.labels, **labels}:
            metadata["labels"] = labels
        named = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        return {**named, "spec": spec}


def owned_by(owner: Document, *, controller: bool = False) -> Document:
    """Return a reference to an owner."""
    result: Document = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return result | ({"controller": True, "blockOwnerDeletion": True} if controller else {})


def reference(document: Document) -> Document:
    """Return a contract-versioned reference to an object."""
    return {
        "apiGroup": document["apiVersion"].partition("/")[0],
        "kind": document["kind"],
        "name": document["metadata"]["name"],
    }


def _bootstrapped_by(name: str) -> Document:
    """Return a reference to a bootstrap configuration that does not exist: the test delivers boot
    data.
    """
    return {"configRef": {"apiGroup": BOOTSTRAP_GROUP, "kind": "KubeadmConfig", "name": name}}
