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

    async def advance(self, one: Document, cluster: Document | None) -> Result:
        if self.is_wrong("owner") and not finalizers(one):
            await self.hold(one)
        if cluster is None:
            return DONE
        begun = bool((one.get("status") or {}).get("replicas"))
        if not finalizers(one) and not (begun and self.is_wrong("restored")):
            await self.hold(one)
        if not cluster["spec"].get("controlPlaneEndpoint") and not self.is_wrong(
            "endpoint-of-others"
        ):
            return DONE
        await self._secrets(one, cluster)
        count, version = one["spec"]["replicas"], one["spec"]["version"]
        for number in range(count):
            name = f"{one['metadata']['name']}-{number}"
            if self.is_wrong("once"):
                name = self._noted(one, number)
            await self._machine(one, cluster, number, name)
            if self.is_wrong("once"):
                await self.report(one, {f"machine-{number}": name})
        await self._report(one, count, version)
        return DONE

    async def free(self, one: Document) -> None:
        for machine in await self._machines(one):
            await self.client.delete(_MACHINES, Key.of(machine))
        for purpose in ("kubeconfig", "kube", "ca"):
            key = Key(one["metadata"]["namespace"], f"{self.cluster_of(one)}-{purpose}")
            try:
                await self.client.delete(SECRETS, key)
            except NotFound:
                continue

    async def _machines(self, one: Document) -> list[Document]:
        found = (await self.client.list(_MACHINES, one["metadata"]["namespace"])).items
        return [each for each in found if self.cluster_of(each) == self.cluster_of(one)]

    async def _report(self, one: Document, count: int, version: str) -> None:
        status: Document = {"replicas": count, "versions": self._versions(one, count, version)}
        done = not self.is_wrong("initialized: back") or not one["metadata"]["labels"].get(
            "conformance"
        )
        status["initialization"] = {"controlPlaneInitialized": done}
        await self.report(one, status)

    def _versions(self, one: Document, count: int, version: str) -> list[Document]:
        told = [{"version": version, "replicas": count}]
        known = ((one.get("status") or {}).get("versions") or told)[0]["version"]
        if self.is_wrong("versions-order: counts"):
            return [{"version": version}]
        if self.is_wrong("versions-order: order") and known != version:
            return [*told, {"version": known, "replicas": 0}]
        return told

    def _noted(self, one: Document, number: int) -> str:
        """A random name, which is noted after the Machine is made: too late for a crash."""
        known = (one.get("status") or {}).get(f"machine-{number}")
        return known or f"{one['metadata']['name']}-{self.runtime.random.random()}"

    async def _machine(self, one: Document, cluster: Document, number: int, name: str) -> None:
        key = Key(one["metadata"]["namespace"], name)
        known = await self.get(_MACHINES, key)
        if known is None:
            known = await self.client.create(_MACHINES, self._new(one, cluster, key, number))
        await self._follow(one, known)
        told = (known.get("status") or {}).get("conditions") or ()
        if not told and not self.is_wrong("min-ready-seconds"):
            condition = {"type": "UpToDate", "status": "True", "reason": "UpToDate"}
            status = {"status": {"conditions": [condition]}}
            await self.client.patch(_MACHINES, key, status, subresource="status")

    def _new(self, one: Document, cluster: Document, key: Key, number: int) -> Document:
        labels = {_CLUSTER: self.cluster_of(one), _LABEL: ""}
        if self.is_wrong("machines-label"):
            labels[_LABEL] = "true"
        domains = (cluster.get("status") or {}).get("failureDomains") or ()
        for_us = [each["name"] for each in domains if each["controlPlane"]]
        if self.is_wrong("placement: all"):
            for_us = [each["name"] for each in domains]
        spec = {"clusterName": self.cluster_of(one), "version": one["spec"]["version"]}
        if for_us and not self.is_wrong("placement: none"):
            spec["failureDomain"] = for_us[number % len(for_us)]
        owners = [owned_by(one)]
        metadata = {"name": key.name, "namespace": key.namespace, "labels": labels}
        return {
            "apiVersion": _MACHINES.api_version,
            "kind": _MACHINES.kind,
            "metadata": {**metadata, "ownerReferences": owners},
            "spec": spec,
        }

    async def _follow(self, one: Document, machine: Document) -> None:
        """What changes in place."""
        template = one["spec"]["machineTemplate"]
        told = template.get("metadata") or {}
        wanted: Document = {"metadata": {part: told.get(part) or {} for part in told}}
        if self.is_wrong("metadata-propagation"):
            wanted = {"metadata": {}}
        if self.is_wrong("metadata-propagation: labels"):
            wanted["metadata"].pop("annotations", None)
        deletion = (template["spec"].get("deletion") or {}).copy()
        if deletion and not self.is_wrong("machines-in-place"):
            wanted["spec"] = {"deletion": deletion}
        if self.is_wrong("machines-in-place: replaced") and deletion:
            known = (machine["spec"].get("deletion") or {}) == deletion
            if not known:
                await self.client.delete(_MACHINES, Key.of(machine))
                return
        if _misses(machine, wanted):
            await self.client.patch(_MACHINES, Key.of(machine), wanted)

    async def _secrets(self, one: Document, cluster: Document) -> None:
        where = Key(one["metadata"]["namespace"], self.cluster_of(one))
        authority = await self._certificate(where)
        name = f"{where.name}-{'kube' if self.is_wrong('kubeconfig: name') else 'kubeconfig'}"
        known = await self.get(SECRETS, Key(where.namespace, name))
        if known is None:
            secret = cluster_secret(name, where, {"value": self._kubeconfig(authority)}, None)
            if self.is_wrong("kubeconfig: type"):
                secret["type"] = "Opaque"
            if self.is_wrong("kubeconfig: label"):
                secret["metadata"]["labels"] = {_CLUSTER: "other"}
            await self.client.create(SECRETS, secret)
        elif self._is_old(known) and not self.is_wrong("kubeconfig-renewal: never"):
            fresh = {"value": b64encode(self._kubeconfig(authority)).decode()}
            await self.client.patch(SECRETS, Key.of(known), {"data": fresh})

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
        made = issue(authority, "admin", now=now, valid=valid, algorithm="ECDSA-P256")
        user = {
            "client-certificate-data": b64encode(made.certificate).decode(),
            "client-key-data": b64encode(made.key).decode(),
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
            if any(there.get(key) != one for key, one in value.items()):
                return True
    return False
