"""Checks of machines that claim addresses from IPAM pools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.names import Label
from kapy.kube import Document
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture

_CLAIM: Final = IPAddressClaim.RESOURCE
_ADDRESS: Final = IPAddress.RESOURCE
_MACHINES: Final = "infra-machine"


async def pool_ref(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the claim refers to a pool completely."""
    for claim in await _claims(fixture):
        ref = claim["spec"].get("poolRef") or {}
        if missing := [item for item in ("apiGroup", "kind", "name") if not ref.get(item)]:
            evidence = f"{' and '.join(missing)} of the pool is not there"
            remedy = "name the pool that the machine's spec names"
            yield _fault(fixture, claim, "spec.poolRef", evidence, remedy)


async def claim_of_machine(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the machine, or an object between the two, is the controller of the claim."""
    for claim in await _claims(fixture):
        owners = claim["metadata"].get("ownerReferences") or ()
        if not any(owner.get("controller") and owner.get("blockOwnerDeletion") for owner in owners):
            evidence = "there is none with controller: true and blockOwnerDeletion: true"
            remedy = "set such an owner reference to the machine: a move needs it"
            yield _fault(fixture, claim, "metadata.ownerReferences", evidence, remedy)


async def claim_cluster(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the claim names its Cluster."""
    for claim in await _claims(fixture):
        label = (claim["metadata"].get("labels") or {}).get(Label.CLUSTER_NAME)
        named = claim["spec"].get("clusterName") or label
        if named != fixture.cluster:
            evidence = f'it is "{named}"' if named else "it is not there"
            remedy = f"set it to the name of the Cluster, here {fixture.cluster}"
            yield _fault(fixture, claim, "spec.clusterName", evidence, remedy)


async def claim_deletion(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the claim is deleted with its machine."""
    claims = await _claims(fixture)
    for number, claim in enumerate(claims, start=1):
        await _answer(fixture, claim, f"10.0.0.{number}")
    await setup.wait_until_done(fixture)
    await fixture.delete()
    for claim in claims:
        if not await fixture.wait_until_gone(claim["metadata"]["name"], _CLAIM):
            evidence = "its machine was deleted, and it is still there"
            remedy = "make the machine its owner, or delete it before the machine's finalizer goes"
            yield _fault(fixture, claim, "", evidence, remedy)


async def _claims(fixture: Fixture) -> list[Document]:
    """Return the claims that were created for a machine. Raises NotApplicable."""
    await setup.create_complete(fixture)
    await fixture.settle()
    writes = [
        write for write in fixture.writes() if write.created and write.plural == _CLAIM.plural
    ]
    result = [await fixture.read(write.key.name, _CLAIM) for write in writes]
    claims = [item for item in result if item is not None]
    if not claims:
        raise NotApplicable("its machines, as those of its examples, take no addresses of pools")
    return claims


async def _answer(fixture: Fixture, claim: Document, address: str) -> None:
    """Allocate an address as the IPAM provider of the pool would."""
    name = claim["metadata"]["name"]
    document = {
        "apiVersion": _ADDRESS.api_version,
        "kind": _ADDRESS.kind,
        "metadata": {"name": name, "namespace": fixture.namespace},
        "spec": {
            "claimRef": {"name": name},
            "poolRef": claim["spec"]["poolRef"],
            "address": address,
            "prefix": 24,
        },
    }
    await fixture.client.create(_ADDRESS, document)
    await fixture.patch({"status": {"addressRef": {"name": name}}}, name, _CLAIM, "status")


def _fault(fixture: Fixture, claim: Document, field: str, evidence: str, remedy: str) -> Finding:
    return fixture.finding(field, evidence, remedy, claim["metadata"]["name"], _CLAIM.kind)


CHECKS: Final = (
    Check("ipam/pool-ref", pool_ref, of=_MACHINES),
    Check("ipam/claim-of-machine", claim_of_machine, of=_MACHINES),
    Check("ipam/claim-cluster", claim_cluster, of=_MACHINES),
    Check("ipam/claim-deletion", claim_deletion, of=_MACHINES),
)
