"""A provider that is written by hand, without the SDK: each step can be got wrong by itself.

It makes a ConfigMap for each object, which stands for what a cloud would have.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.names import CONFIG_MAPS, Resource
from kapy.sdk import (
    DONE,
    Change,
    Controller,
    Result,
    Runtime,
)
from kapy.sdk.internals import (
    own_key,
)

GROUP: Final = "infrastructure.cluster.x-k8s.io"
FINALIZER: Final = "plain.example.dev/thing"
RESOURCES: Final = {
    "infra-cluster": Resource(GROUP, "v1", "plainclusters", "PlainCluster"),
    "infra-machine": Resource(GROUP, "v1", "plainmachines", "PlainMachine"),
    "infra-machinepool": Resource(GROUP, "v1", "plainmachinepools", "PlainMachinePool"),
}
TEMPLATES: Final = {
    role: Resource(GROUP, "v1", f"{one.kind.lower()}templates", f"{one.kind}Template")
    for role, one in RESOURCES.items()
}
OWNERS: Final = {
    "infra-cluster": Cluster.RESOURCE,
    "infra-machine": Machine.RESOURCE,
    "infra-machinepool": MachinePool.RESOURCE,
}
PAUSED: Final = "cluster.x-k8s.io/paused"


class Plain:
    """One kind. `flag`: where it says that all is there."""

    flag: tuple[str, ...] = ("initialization", "provisioned")

    def __init__(self, runtime: Runtime, role: str) -> None:
        self.runtime = runtime
        self.client = runtime.client
        self.role = role
        self.resource = RESOURCES[role]
        self.objects = runtime.cache.informer(self.resource)
        self.clusters = runtime.cache.informer(Cluster.RESOURCE)
        self.owners = runtime.cache.informer(OWNERS[role])
        self.controller = Controller(f"plain-{role}", self.reconcile)
        self.controller.watch(self.objects, own_key)
        self.controller.watch(self.clusters, self.all_of)
        self.controller.watch(self.owners, self.all_of)
        self.serve()

    def serve(self) -> None:
        self.runtime.add(self.controller, self.objects)

    def all_of(self, change: Change) -> Iterable[Key]:
        namespace = change.document["metadata"]["namespace"]
        return [key for key in list(self.objects.keys()) if key.namespace == namespace]

    async def reconcile(self, key: Key) -> Result:
        found = self.objects.get(key)
        if found is None or self.managed(found) or self.failed(found):
            return DONE
        owner = self.owner(found)
        cluster = self.cluster(found, owner)
        if self.paused(found, cluster):
            await self.tell_paused(found, "True")
            return DONE
        if "deletionTimestamp" in found["metadata"]:
            await self.let_go(found, owner, cluster)
            return DONE
        if not self.has_owner(owner, cluster):
            return DONE
        found = await self.hold(found)
        if self.ready(owner, cluster):
            found = await self.make(found, owner, cluster)
            found = await self.tell_done(found)
        await self.tell_paused(found, "False")
        return await self.done(found)

    def managed(self, found: Document) -> bool:
        annotations = found["metadata"].get("annotations") or {}
        return "cluster.x-k8s.io/managed-by" in annotations and self.role == "infra-cluster"

    def failed(self, found: Document) -> bool:
        going = "deletionTimestamp" in found["metadata"]
        return bool(status(found).get("failureReason")) and not going

    def owner(self, found: Document) -> Document | None:
        wanted = OWNERS[self.role].kind
        for one in found["metadata"].get("ownerReferences") or ():
            if one["kind"] == wanted:
                return self.owners.get(Key(found["metadata"]["namespace"], one["name"]))
        return None

    def cluster(self, found: Document, owner: Document | None) -> Document | None:
        labels = found["metadata"].get("labels") or {}
        name = labels.get("cluster.x-k8s.io/cluster-name", "")
        return self.clusters.get(Key(found["metadata"]["namespace"], name))

    def has_owner(self, owner: Document | None, cluster: Document | None) -> bool:
        return owner is not None and cluster is not None

    def paused(self, found: Document, cluster: Document | None) -> bool:
        return self.paused_itself(found) or self.paused_above(cluster)

    def paused_itself(self, found: Document) -> bool:
        return PAUSED in (found["metadata"].get("annotations") or {})

    def paused_above(self, cluster: Document | None) -> bool:
        return bool(cluster and cluster["spec"].get("paused"))

    async def tell_paused(self, found: Document, wanted: str) -> None:
        known = {one["type"]: one["status"] for one in status(found).get("conditions") or ()}
        if known.get("Paused") != wanted:
            told = {"type": "Paused", "status": wanted, "reason": "Told", "message": ""}
            told["lastTransitionTime"] = "2026-01-01T00:00:00Z"
            await self.patch(found, {"status": {"conditions": [told]}}, "status")

    async def hold(self, found: Document) -> Document:
        if FINALIZER in (found["metadata"].get("finalizers") or ()):
            return found
        return await self.patch(found, {"metadata": {"finalizers": [FINALIZER]}})

    def ready(self, owner: Document | None, cluster: Document | None) -> bool:
        if self.role == "infra-cluster":
            return self.has_endpoint(cluster)
        return self.infrastructure(cluster) and self.has_data(owner)

    def has_endpoint(self, cluster: Document | None) -> bool:
        return True

    def infrastructure(self, cluster: Document | None) -> bool:
        return bool((status(cluster).get("initialization") or {}).get("infrastructureProvisioned"))

    def has_data(self, owner: Document | None) -> bool:
        spec = (owner or {})["spec"]
        spec = spec["template"]["spec"] if "template" in spec else spec
        return bool(spec["bootstrap"].get("dataSecretName"))

    async def make(
        self, found: Document, owner: Document | None, cluster: Document | None
    ) -> Document:
        await self.create(found)
        match self.role:
            case "infra-cluster":
                return await self.patch(found, {"spec": self.endpoint()})
            case "infra-machine":
                await self.patch(found, {"spec": {"providerID": self.provider_id(found)}})
                told = {"addresses": [{"type": self.address_type, "address": "10.0.0.4"}]}
                if domain := self.domain((owner or {})["spec"].get("failureDomain", "")):
                    told["failureDomain"] = domain  # type: ignore[assignment]
                return await self.patch(found, {"status": told}, "status")
            case _:
                ids = self.ids(found, (owner or {})["spec"].get("replicas", 1))
                await self.patch(found, {"spec": {"providerIDList": ids}})
                return await self.patch(found, {"status": {"replicas": len(ids)}}, "status")

    address_type = "InternalIP"

    def endpoint(self) -> Document:
        return {"controlPlaneEndpoint": {"host": "plain.example", "port": 6443}}

    def domain(self, wanted: str) -> str:
        return wanted

    def provider_id(self, found: Document) -> str:
        metadata = found["metadata"]
        return f"plain://{metadata['namespace']}/{metadata['name']}"

    def ids(self, found: Document, count: int) -> list[str]:
        return [f"{self.provider_id(found)}/{number}" for number in range(count)]

    async def create(self, found: Document) -> None:
        metadata = found["metadata"]
        made: Document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"{metadata['name']}-{self.role}",
                "namespace": metadata["namespace"],
                "ownerReferences": self.references(found),
            },
        }
        with suppress(AlreadyExists):
            await self.client.create(CONFIG_MAPS, made)

    def references(self, found: Document) -> list[Document]:
        metadata = found["metadata"]
        named = {"apiVersion": found["apiVersion"], "kind": found["kind"]}
        return [{**named, "name": metadata["name"], "uid": metadata["uid"]}]

    async def tell_done(self, found: Document) -> Document:
        told: Any = True
        for part in reversed(self.flag):
            told = {part: told}
        return await self.patch(found, {"status": told}, "status")

    async def done(self, found: Document) -> Result:
        return DONE

    async def let_go(
        self, found: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        key = Key.of(found)
        with suppress(NotFound):
            name = Key(key.namespace, f"{key.name}-{self.role}")
            await self.client.delete(CONFIG_MAPS, name)
        if FINALIZER in (found["metadata"].get("finalizers") or ()):
            await self.patch(found, {"metadata": {"finalizers": None}})

    async def patch(self, found: Document, patch: Document, part: str = "") -> Document:
        return await self.client.patch(self.resource, Key.of(found), patch, subresource=part)


def status(document: Document | None) -> Document:
    found: Document = (document or {}).get("status") or {}
    return found
