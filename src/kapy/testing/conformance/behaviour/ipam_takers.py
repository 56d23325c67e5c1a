"""What machines are asked for that take addresses of pools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.names import Label
from kapy.kube import Document
from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import Scene

_CLAIM: Final = IPAddressClaim.RESOURCE
_ADDRESS: Final = IPAddress.RESOURCE
_MACHINES: Final = "infra-machine"


async def pool_ref(scene: Scene) -> AsyncIterator[Finding]:
    """The claim says which pool."""
    for claim in await _claims(scene):
        found = claim["spec"].get("poolRef") or {}
        if missing := [one for one in ("apiGroup", "kind", "name") if not found.get(one)]:
            evidence = f"{' and '.join(missing)} of the pool is not there"
            mend = "name the pool that the machine's spec names"
            yield _fault(scene, claim, "spec.poolRef", evidence, mend)


async def claim_of_machine(scene: Scene) -> AsyncIterator[Finding]:
    """The machine, or what stands between them, is its controller."""
    for claim in await _claims(scene):
        owners = claim["metadata"].get("ownerReferences") or ()
        if not any(one.get("controller") and one.get("blockOwnerDeletion") for one in owners):
            evidence = "there is none with controller: true and blockOwnerDeletion: true"
            mend = "set such an owner reference to the machine: a move needs it"
            yield _fault(scene, claim, "metadata.ownerReferences", evidence, mend)


async def claim_cluster(scene: Scene) -> AsyncIterator[Finding]:
    """The claim says which Cluster."""
    for claim in await _claims(scene):
        label = (claim["metadata"].get("labels") or {}).get(Label.CLUSTER_NAME)
        named = claim["spec"].get("clusterName") or label
        if named != scene.cluster:
            evidence = f'it is "{named}"' if named else "it is not there"
            mend = f"set it to the name of the Cluster, here {scene.cluster}"
            yield _fault(scene, claim, "spec.clusterName", evidence, mend)


async def claim_deletion(scene: Scene) -> AsyncIterator[Finding]:
    """The claim goes with its machine."""
    claims = await _claims(scene)
    for number, claim in enumerate(claims, start=1):
        await _answer(scene, claim, f"10.0.0.{number}")
    await stage.done(scene)
    await scene.delete()
    for claim in claims:
        if not await scene.gone(claim["metadata"]["name"], _CLAIM):
            evidence = "its machine was deleted, and it is still there"
            mend = "make the machine its owner, or delete it before the machine's finalizer goes"
            yield _fault(scene, claim, "", evidence, mend)


async def _claims(scene: Scene) -> list[Document]:
    """The claims that were made for a machine. Raises NotApplicable."""
    await stage.whole(scene)
    await scene.quiet()
    made = [one for one in scene.writes() if one.created and one.plural == _CLAIM.plural]
    found = [await scene.read(one.key.name, _CLAIM) for one in made]
    claims = [one for one in found if one is not None]
    if not claims:
        raise NotApplicable("its machines, as those of its examples, take no addresses of pools")
    return claims


async def _answer(scene: Scene, claim: Document, address: str) -> None:
    """Do what the IPAM provider of the pool does."""
    name = claim["metadata"]["name"]
    document = {
        "apiVersion": _ADDRESS.api_version,
        "kind": _ADDRESS.kind,
        "metadata": {"name": name, "namespace": scene.namespace},
        "spec": {
            "claimRef": {"name": name},
            "poolRef": claim["spec"]["poolRef"],
            "address": address,
            "prefix": 24,
        },
    }
    await scene.client.create(_ADDRESS, document)
    await scene.patch({"status": {"addressRef": {"name": name}}}, name, _CLAIM, "status")


def _fault(scene: Scene, claim: Document, field: str, evidence: str, mend: str) -> Finding:
    return scene.fault(field, evidence, mend, claim["metadata"]["name"], _CLAIM.kind)


CHECKS: Final = (
    Check("ipam/pool-ref", pool_ref, of=_MACHINES),
    Check("ipam/claim-of-machine", claim_of_machine, of=_MACHINES),
    Check("ipam/claim-cluster", claim_cluster, of=_MACHINES),
    Check("ipam/claim-deletion", claim_deletion, of=_MACHINES),
)
