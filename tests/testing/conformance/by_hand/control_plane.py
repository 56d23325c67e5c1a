"""A control plane provider that was written by hand: it makes Machines and says that they run."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import timedelta
from functools import cache
from typing import Any, ClassVar, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import SECRETS, Resource
from kapy.kube.pki import KeyPair, facts, issue, new_ca
from kapy.kube.yaml import dump, load
from kapy.remote.secrets import cluster_secret
from tests.testing.conformance.by_hand.provider import ByHand, finalizers, owned_by

CONTROL_PLANES: Final = Resource(
    "controlplane.hand.example.com", "v1", "handcontrolplanes", "HandControlPlane"
)
EXAMPLE: Final[Document] = {
    "kind": "HandControlPlane",
    "metadata": {},
    "spec": {"replicas": 1, "version": "v1.34.0", "machineTemplate": {"spec": {}}},
}
_MACHINES: Final = Machine.RESOURCE
_LABEL: Final = "cluster.x-k8s.io/control-plane"
_CLUSTER: Final = "cluster.x-k8s.io/cluster-name"


@cache
def _authority(now: Any) -> KeyPair:
    return new_ca("hand", now=now, algorithm="ECDSA-P256")


class HandControlPlane(ByHand):
    """Machines are called as the control plane, with a number."""

    KIND: ClassVar = CONTROL_PLANES
    OWNER: ClassVar = Cluster.RESOURCE

    async def advance(self, document: Document, cluster: Document | None) -> Result:
        if self.is_wrong("owner") and not finalizers(document):
            await self.hold(document)
        if cluster is None:
            return DONE
        begun = bool((document.get("status") or {}).get("replicas"))
        if not finalizers(document) and not (begun and self.is_wrong("restored")):
            await self.hold(document)
        if not cluster["spec"].get("controlPlaneEndpoint") and not self.is_wrong(
            "endpoint-of-others"
        ):
            return DONE
        await self._secrets(document, cluster)
        count, version = document["spec"]["replicas"], document["spec"]["version"]
        for number in range(count):
            name = f"{document['metadata']['name']}-{number}"
            if self.is_wrong("once"):
                name = self._noted(document, number)
            await self._machine(document, cluster, number, name)
            if self.is_wrong("once"):
                await self.report(document, {f"machine-{number}": name})
        await self._report(document, count, version)
        return DONE

    async def free(self, document: Document) -> None:
        for machine in await self._machines(document):
            await self.client.delete(_MACHINES, Key.of(machine))
        for purpose in ("kubeconfig", "kube", "ca"):
            key = Key(document["metadata"]["namespace"], f"{self.cluster_of(document)}-{purpose}")
            try:
                await self.client.delete(SECRETS, key)
            except NotFound:
                continue

    async def _machines(self, document: Document) -> list[Document]:
        results = (await self.client.list(_MACHINES, document["metadata"]["namespace"])).items
        return [item for item in results if self.cluster_of(item) == self.cluster_of(document)]

    async def _report(self, document: Document, count: int, version: str) -> None:
        status: Document = {"replicas": count, "versions": self._versions(document, count, version)}
        done = not self.is_wrong("initialized: back") or not document["metadata"]["labels"].get(
            "conformance"
        )
        status["initialization"] = {"controlPlaneInitialized": done}
        await self.report(document, status)

    def _versions(self, document: Document, count: int, version: str) -> list[Document]:
        messages = [{"version": version, "replicas": count}]
        reported = ((document.get("status") or {}).get("versions") or messages)[0]["version"]
        if self.is_wrong("versions-order: counts"):
            return [{"version": version}]
        if self.is_wrong("versions-order: order") and reported != version:
            return [*messages, {"version": reported, "replicas": 0}]
        return messages

    def _noted(self, document: Document, number: int) -> str:
        """A random name, which is noted after the Machine is made: too late for a crash."""
        stored = (document.get("status") or {}).get(f"machine-{number}")
        return stored or f"{document['metadata']['name']}-{self.runtime.random.random()}"

    async def _machine(self, document: Document, cluster: Document, number: int, name: str) -> None:
        key = Key(document["metadata"]["namespace"], name)
        machine = await self.get(_MACHINES, key)
        if machine is None:
            machine = await self.client.create(_MACHINES, self._new(document, cluster, key, number))
        await self._follow(document, machine)
        conditions = (machine.get("status") or {}).get("conditions") or ()
        if not conditions and not self.is_wrong("min-ready-seconds"):
            condition = {"type": "UpToDate", "status": "True", "reason": "UpToDate"}
            status = {"status": {"conditions": [condition]}}
            await self.client.patch(_MACHINES, key, status, subresource="status")

    def _new(self, document: Document, cluster: Document, key: Key, number: int) -> Document:
        labels = {_CLUSTER: self.cluster_of(document), _LABEL: ""}
        if self.is_wrong("machines-label"):
            labels[_LABEL] = "true"
        domains = (cluster.get("status") or {}).get("failureDomains") or ()
        for_us = [domain["name"] for domain in domains if domain["controlPlane"]]
        if self.is_wrong("placement: all"):
            for_us = [domain["name"] for domain in domains]
        spec = {"clusterName": self.cluster_of(document), "version": document["spec"]["version"]}
        if for_us and not self.is_wrong("placement: none"):
            spec["failureDomain"] = for_us[number % len(for_us)]
        owners = [owned_by(document)]
        metadata = {"name": key.name, "namespace": key.namespace, "labels": labels}
        return {
            "apiVersion": _MACHINES.api_version,
            "kind": _MACHINES.kind,
            "metadata": {**metadata, "ownerReferences": owners},
            "spec": spec,
        }

    async def _follow(self, document: Document, machine: Document) -> None:
        """Update the fields of a Machine that change in place."""
        template = document["spec"]["machineTemplate"]
        metadata = template.get("metadata") or {}
        wanted: Document = {"metadata": {part: metadata.get(part) or {} for part in metadata}}
        if self.is_wrong("metadata-propagation"):
            wanted = {"metadata": {}}
        if self.is_wrong("metadata-propagation: labels"):
            wanted["metadata"].pop("annotations", None)
        deletion = (template["spec"].get("deletion") or {}).copy()
        if deletion and not self.is_wrong("machines-in-place"):
            wanted["spec"] = {"deletion": deletion}
        if self.is_wrong("machines-in-place: replaced") and deletion:
            is_current = (machine["spec"].get("deletion") or {}) == deletion
            if not is_current:
                await self.client.delete(_MACHINES, Key.of(machine))
                return
        if _misses(machine, wanted):
            await self.client.patch(_MACHINES, Key.of(machine), wanted)

    async def _secrets(self, document: Document, cluster: Document) -> None:
        where = Key(document["metadata"]["namespace"], self.cluster_of(document))
        authority = await self._certificate(where)
        name = f"{where.name}-{'kube' if self.is_wrong('kubeconfig: name') else 'kubeconfig'}"
        secret = await self.get(SECRETS, Key(where.namespace, name))
        if secret is None:
            secret = cluster_secret(name, where, {"value": self._kubeconfig(authority)}, None)
            if self.is_wrong("kubeconfig: type"):
                secret["type"] = "Opaque"
            if self.is_wrong("kubeconfig: label"):
                secret["metadata"]["labels"] = {_CLUSTER: "other"}
            await self.client.create(SECRETS, secret)
        elif self._is_old(secret) and not self.is_wrong("kubeconfig-renewal: never"):
            fresh = {"value": b64encode(self._kubeconfig(authority)).decode()}
            await self.client.patch(SECRETS, Key.of(secret), {"data": fresh})

    async def _certificate(self, where: Key) -> KeyPair:
        name = f"{where.name}-ca"
        if await self.get(SECRETS, Key(where.namespace, name)) is None:
            pair = _authority(self.runtime.clock())
            content = {"tls.crt": pair.certificate, "tls.key": pair.key}
            secret = cluster_secret(name, where, content, None)
            if self.is_wrong("certificates: type"):
                secret["type"] = "Opaque"
            if self.is_wrong("certificates: label"):
                secret["metadata"]["labels"] = {}
            await self.client.create(SECRETS, secret)
            return pair
        return _authority(self.runtime.clock())

    def _kubeconfig(self, authority: KeyPair) -> bytes:
        if self.is_wrong("kubeconfig: value"):
            return b"no kubeconfig"
        years = 10 if self.is_wrong("kubeconfig-renewal: long") else 1
        now, valid = self.runtime.clock(), timedelta(days=365 * years)
        key_pair = issue(authority, "admin", now=now, valid=valid, algorithm="ECDSA-P256")
        user = {
            "client-certificate-data": b64encode(key_pair.certificate).decode(),
            "client-key-data": b64encode(key_pair.key).decode(),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": "https://cluster.example:6443"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        return dump(config).encode()

    def _is_old(self, secret: Document) -> bool:
        config = load(b64decode(secret["data"]["value"]).decode())
        if "users" not in config:
            return False
        user = config["users"][0]["user"]
        end = facts(b64decode(user["client-certificate-data"])).not_after
        return end < self.runtime.clock() + timedelta(days=30)


def _misses(machine: Document, wanted: Document) -> bool:
    for part, fields in wanted.items():
        for name, value in fields.items():
            there = (machine.get(part) or {}).get(name) or {}
            if any(there.get(key) != item for key, item in value.items()):
                return True
    return False
