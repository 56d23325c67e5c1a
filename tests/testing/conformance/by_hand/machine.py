"""A provider of machines that was written by hand: they take addresses of pools."""

from __future__ import annotations

from typing import ClassVar, Final

from kapy.api.ip_address import IPAddressClaim
from kapy.engine.cache import Change
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from tests.testing.conformance.by_hand.provider import ByHand, finalizers, owned_by

MACHINES: Final = Resource("infrastructure.hand.example.com", "v1", "handmachines", "HandMachine")
EXAMPLE: Final[Document] = {"kind": "HandMachine", "metadata": {}, "spec": {}}
_CLAIMS: Final = IPAddressClaim.RESOURCE


class HandMachine(ByHand):
    """A machine is there when it has an address."""

    KIND: ClassVar = MACHINES

    def __init__(self, runtime: Runtime, wrong: str) -> None:
        super().__init__(runtime, wrong)
        self.controller.watch(runtime.cache.informer(_CLAIMS), self._of_claim)

    def _of_claim(self, change: Change) -> list[Key]:
        return [Key.of(change.document)]

    async def advance(self, document: Document, cluster: Document | None) -> Result:
        if not finalizers(document):
            await self.hold(document)
        key = Key.of(document)
        claim = await self.get(_CLAIMS, key)
        if claim is None:
            await self.client.create(_CLAIMS, self._claim(document))
        elif (claim.get("status") or {}).get("addressRef"):
            await self.patch(document, {"spec": {"providerID": f"hand://{key}"}})
            await self.report(document, {"initialization": {"provisioned": True}})
        return DONE

    def _claim(self, document: Document) -> Document:
        metadata = {
            "name": document["metadata"]["name"],
            "namespace": document["metadata"]["namespace"],
        }
        owner = owned_by(document, controller=not self.is_wrong("claim-of-machine"))
        pool = {"apiGroup": "ipam.example.com", "kind": "Pool", "name": "pool"}
        if self.is_wrong("pool-ref"):
            pool.pop("name")
        spec: Document = {"poolRef": pool}
        if not self.is_wrong("claim-cluster"):
            spec["clusterName"] = self.cluster_of(document)
        held: Document = (
            {"finalizers": ["example.com/stays"]} if self.is_wrong("claim-deletion") else {}
        )
        return {
            "apiVersion": _CLAIMS.api_version,
            "kind": _CLAIMS.kind,
            "metadata": {**metadata, **held, "ownerReferences": [owner]},
            "spec": spec,
        }
