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

    def cluster_of(self, document: Document) -> str:
        return str(document["spec"].get("clusterName", ""))

    def is_owned(self, document: Document) -> bool:
        pool = document["spec"]["poolRef"]
        return self.is_wrong("others") or pool["apiGroup"] == POOLS.group

    async def condition(self, document: Document, of_type: str, holds: bool) -> None:
        """Claims of others are none of its business."""

    async def _reconcile(self, key: Key) -> Result:
        document = self.objects.raw(key)
        if (
            document is not None
            and self.is_wrong("paused")
            and "deletionTimestamp" not in document["metadata"]
        ):
            return await self.advance(document, None) if self.is_owned(document) else DONE
        return await super()._reconcile(key)

    async def advance(self, document: Document, cluster: Document | None) -> Result:
        space = document["metadata"]["namespace"]
        pool = self.pools.raw(Key(space, document["spec"]["poolRef"]["name"]))
        if pool is None:
            return DONE
        if not finalizers(document) and not self.is_wrong("finalizer"):
            await self.hold(document)
        name = document["metadata"]["name"] + ("-ip" if self.is_wrong("name") else "")
        if await self.get(_ADDRESSES, Key(space, name)) is None:
            await self.client.create(_ADDRESSES, self._address(document, pool, name))
            self.made.add(Key.of(document))
        elif self.is_wrong("unique: moves") and document["metadata"].get("annotations"):
            spec = {"spec": {"address": "10.9.9.9"}}
            await self.client.patch(_ADDRESSES, Key(space, name), spec)
        if self.is_wrong("finalizer") and not finalizers(document):
            await self.hold(document)
        if not self.is_wrong("address-ref"):
            await self.report(document, {"addressRef": {"name": name}})
        return DONE

    async def free(self, document: Document) -> None:
        metadata = document["metadata"]
        if self.is_wrong("release: address"):
            return
        if self.is_wrong("release: forgets") and Key.of(document) not in self.made:
            return
        name = metadata["name"] + ("-ip" if self.is_wrong("name") else "")
        address = await self.get(_ADDRESSES, Key(metadata["namespace"], name))
        if address is None:
            return
        self._numbers(address).discard(int(address["spec"]["address"].rpartition(".")[2]))
        await self.client.delete(_ADDRESSES, Key.of(address))
        if finalizers(address):
            removals: Document = {"metadata": {"finalizers": None}}
            await self.client.patch(_ADDRESSES, Key.of(address), removals)

    def _numbers(self, address: Document) -> set[int]:
        pool = (address["metadata"]["namespace"], address["spec"]["poolRef"]["name"])
        return self.taken.setdefault(pool, set())

    def _address(self, document: Document, pool: Document, name: str) -> Document:
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": document["metadata"]["namespace"],
            "ownerReferences": [
                owned_by(document, controller=not self.is_wrong("claim-owner")),
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
        spec = {
            "claimRef": {"name": document["metadata"]["name"]},
            "poolRef": document["spec"]["poolRef"],
        }
        result: Document = {
            "apiVersion": _ADDRESSES.api_version,
            "kind": _ADDRESSES.kind,
            "metadata": metadata,
            "spec": {**spec, "prefix": 24},
        }
        entries = self._numbers(result)
        number = 7 if self.is_wrong("unique: same") else max(entries, default=0) + 1
        entries.add(number)
        result["spec"]["address"] = f"{pool['spec']['prefix']}{number}"
        return result
