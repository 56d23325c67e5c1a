"""An IPAM provider that was written by hand: pools are ranges of addresses."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from tests.testing.conformance.by_hand.provider import ByHand, finalizers, owned_by

POOLS: Final = Resource("ipam.hand.example.com", "v1", "handpools", "HandPool")
EXAMPLE: Final[Document] = {"kind": "HandPool", "metadata": {}, "spec": {"prefix": "10.0.0."}}
_ADDRESSES: Final = IPAddress.RESOURCE
_PROTECTION: Final = "ipam.cluster.x-k8s.io/ProtectAddress"


class HandIPAM(ByHand):
    """Answers claims."""

    KIND: ClassVar = IPAddressClaim.RESOURCE

    def __init__(self, runtime: Runtime, wrong: str) -> None:
        super().__init__(runtime, wrong)
        self.pools = runtime.cache.informer(POOLS)
        self.addresses = runtime.cache.informer(_ADDRESSES)
        self.made: set[Key] = set()
        self.taken: dict[tuple[str, str], set[int]] = {}

    def cluster_of(self, one: Document) -> str:
        return str(one["spec"].get("clusterName", ""))

    def is_owned(self, one: Document) -> bool:
        pool = one["spec"]["poolRef"]
        return self.is_wrong("others") or pool["apiGroup"] == POOLS.group

    async def condition(self, one: Document, of_type: str, holds: bool) -> None:
        """Claims of others are none of its business."""

    async def _reconcile(self, key: Key) -> Result:
        one = self.objects.raw(key)
        if (
            one is not None
            and self.is_wrong("paused")
            and "deletionTimestamp" not in one["metadata"]
        ):
            return await self.advance(one, None) if self.is_owned(one) else DONE
        return await super()._reconcile(key)

    async def advance(self, one: Document, cluster: Document | None) -> Result:
        space = one["metadata"]["namespace"]
        pool = self.pools.raw(Key(space, one["spec"]["poolRef"]["name"]))
        if pool is None:
            return DONE
        if not finalizers(one) and not self.is_wrong("finalizer"):
            await self.hold(one)
        name = one["metadata"]["name"] + ("-ip" if self.is_wrong("name") else "")
        if await self.get(_ADDRESSES, Key(space, name)) is None:
            await self.client.create(_ADDRESSES, self._address(one, pool, name))
            self.made.add(Key.of(one))
        elif self.is_wrong("unique: moves") and one["metadata"].get("annotations"):
            spec = {"spec": {"address": "10.9.9.9"}}
            await self.client.patch(_ADDRESSES, Key(space, name), spec)
        if self.is_wrong("finalizer") and not finalizers(one):
            await self.hold(one)
        if not self.is_wrong("address-ref"):
            await self.report(one, {"addressRef": {"name": name}})
        return DONE

    async def free(self, one: Document) -> None:
        metadata = one["metadata"]
        if self.is_wrong("release: address"):
            return
        if self.is_wrong("release: forgets") and Key.of(one) not in self.made:
            return
        name = metadata["name"] + ("-ip" if self.is_wrong("name") else "")
        known = await self.get(_ADDRESSES, Key(metadata["namespace"], name))
        if known is None:
            return
        self._numbers(known).discard(int(known["spec"]["address"].rpartition(".")[2]))
        await self.client.delete(_ADDRESSES, Key.of(known))
        if finalizers(known):
            gone: Document = {"metadata": {"finalizers": None}}
            await self.client.patch(_ADDRESSES, Key.of(known), gone)

    def _numbers(self, address: Document) -> set[int]:
        pool = (address["metadata"]["namespace"], address["spec"]["poolRef"]["name"])
        return self.taken.setdefault(pool, set())

    def _address(self, one: Document, pool: Document, name: str) -> Document:
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": one["metadata"]["namespace"],
            "ownerReferences": [
                owned_by(one, controller=not self.is_wrong("claim-owner")),
                owned_by(pool, controller=False),
            ],
            "finalizers": [_PROTECTION],
        }
        if self.is_wrong("pool-owner: none"):
            metadata["ownerReferences"].pop()
        if self.is_wrong("pool-owner: free"):
            metadata["ownerReferences"][1]["blockOwnerDeletion"] = False
        if self.is_wrong("protection"):
            metadata.pop("finalizers")
        spec = {"claimRef": {"name": one["metadata"]["name"]}, "poolRef": one["spec"]["poolRef"]}
        made: Document = {
            "apiVersion": _ADDRESSES.api_version,
            "kind": _ADDRESSES.kind,
            "metadata": metadata,
            "spec": {**spec, "prefix": 24},
        }
        taken = self._numbers(made)
        number = 7 if self.is_wrong("unique: same") else max(taken, default=0) + 1
        taken.add(number)
        made["spec"]["address"] = f"{pool['spec']['prefix']}{number}"
        return made
