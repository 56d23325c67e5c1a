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
from kapy.sdk import DONE, Controller, Result, Runtime
from kapy.sdk.controllers import Change, own_key

GROUP: Final = "infrastructure.cluster.x-k8s.io"
FINALIZER: Final = "plain.example.dev/thing"
RESOURCES: Final = {
    "infra-cluster": Resource(GROUP, "v1", "plainclusters", "PlainCluster"),
    "infra-machine": Resource(GROUP, "v1", "plainmachines", "PlainMachine"),
    "infra-machinepool": Resource(GROUP, "v1", "plainmachinepools", "PlainMachinePool"),
}
TEMPLATES: Final = {
    role: Resource(GROUP, "v1", f"{resource.kind.lower()}templates", f"{resource.kind}Template")
    for role, resource in RESOURCES.items()
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
        obj = self.objects.get(key)
        if obj is None or self.managed(obj) or self.failed(obj):
            return DONE
        owner = self.owner(obj)
        cluster = self.cluster(obj, owner)
        if self.paused(obj, cluster):
            await self.tell_paused(obj, "True")
            return DONE
        if "deletionTimestamp" in obj["metadata"]:
            await self.let_go(obj, owner, cluster)
            return DONE
        if not self.has_owner(owner, cluster):
            return DONE
        obj = await self.hold(obj)
        if self.ready(owner, cluster):
            obj = await self.make(obj, owner, cluster)
            obj = await self.tell_done(obj)
        await self.tell_paused(obj, "False")
        return await self.done(obj)

    def managed(self, document: Document) -> bool:
        annotations = document["metadata"].get("annotations") or {}
        return "cluster.x-k8s.io/managed-by" in annotations and self.role == "infra-cluster"

    def failed(self, document: Document) -> bool:
        going = "deletionTimestamp" in document["metadata"]
        return bool(status(document).get("failureReason")) and not going

    def owner(self, document: Document) -> Document | None:
        wanted = OWNERS[self.role].kind
        for reference in document["metadata"].get("ownerReferences") or ():
            if reference["kind"] == wanted:
                return self.owners.get(Key(document["metadata"]["namespace"], reference["name"]))
        return None

    def cluster(self, document: Document, owner: Document | None) -> Document | None:
        labels = document["metadata"].get("labels") or {}
        name = labels.get("cluster.x-k8s.io/cluster-name", "")
        return self.clusters.get(Key(document["metadata"]["namespace"], name))

    def has_owner(self, owner: Document | None, cluster: Document | None) -> bool:
        return owner is not None and cluster is not None

    def paused(self, document: Document, cluster: Document | None) -> bool:
        return self.paused_itself(document) or self.paused_above(cluster)

    def paused_itself(self, document: Document) -> bool:
        return PAUSED in (document["metadata"].get("annotations") or {})

    def paused_above(self, cluster: Document | None) -> bool:
        return bool(cluster and cluster["spec"].get("paused"))

    async def tell_paused(self, document: Document, wanted: str) -> None:
        statuses = {
            condition["type"]: condition["status"]
            for condition in status(document).get("conditions") or ()
        }
        if statuses.get("Paused") != wanted:
            messages = {"type": "Paused", "status": wanted, "reason": "Told", "message": ""}
            messages["lastTransitionTime"] = "2026-01-01T00:00:00Z"
            await self.patch(document, {"status": {"conditions": [messages]}}, "status")

    async def hold(self, document: Document) -> Document:
        if FINALIZER in (document["metadata"].get("finalizers") or ()):
            return document
        return await self.patch(document, {"metadata": {"finalizers": [FINALIZER]}})

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
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> Document:
        await self.create(document)
        match self.role:
            case "infra-cluster":
                return await self.patch(document, {"spec": self.endpoint()})
            case "infra-machine":
                await self.patch(document, {"spec": {"providerID": self.provider_id(document)}})
                messages = {"addresses": [{"type": self.address_type, "address": "10.0.0.4"}]}
                if domain := self.domain((owner or {})["spec"].get("failureDomain", "")):
                    messages["failureDomain"] = domain  # type: ignore[assignment]
                return await self.patch(document, {"status": messages}, "status")
            case _:
                ids = self.ids(document, (owner or {})["spec"].get("replicas", 1))
                await self.patch(document, {"spec": {"providerIDList": ids}})
                return await self.patch(document, {"status": {"replicas": len(ids)}}, "status")

    address_type = "InternalIP"

    def endpoint(self) -> Document:
        return {"controlPlaneEndpoint": {"host": "plain.example", "port": 6443}}

    def domain(self, wanted: str) -> str:
        return wanted

    def provider_id(self, document: Document) -> str:
        metadata = document["metadata"]
        return f"plain://{metadata['namespace']}/{metadata['name']}"

    def ids(self, document: Document, count: int) -> list[str]:
        return [f"{self.provider_id(document)}/{number}" for number in range(count)]

    async def create(self, document: Document) -> None:
        metadata = document["metadata"]
        result: Document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"{metadata['name']}-{self.role}",
                "namespace": metadata["namespace"],
                "ownerReferences": self.references(document),
            },
        }
        with suppress(AlreadyExists):
            await self.client.create(CONFIG_MAPS, result)

    def references(self, document: Document) -> list[Document]:
        metadata = document["metadata"]
        named = {"apiVersion": document["apiVersion"], "kind": document["kind"]}
        return [{**named, "name": metadata["name"], "uid": metadata["uid"]}]

    async def tell_done(self, document: Document) -> Document:
        result: Any = True
        for part in reversed(self.flag):
            result = {part: result}
        return await self.patch(document, {"status": result}, "status")

    async def done(self, document: Document) -> Result:
        return DONE

    async def let_go(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        key = Key.of(document)
        with suppress(NotFound):
            name = Key(key.namespace, f"{key.name}-{self.role}")
            await self.client.delete(CONFIG_MAPS, name)
        if FINALIZER in (document["metadata"].get("finalizers") or ()):
            await self.patch(document, {"metadata": {"finalizers": None}})

    async def patch(self, document: Document, patch: Document, part: str = "") -> Document:
        return await self.client.patch(self.resource, Key.of(document), patch, subresource=part)


def status(document: Document | None) -> Document:
    result: Document = (document or {}).get("status") or {}
    return result
