"""Checks of IPAM providers, which allocate an address for each claim on one of their pools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.names import Annotation
from kapy.kube import Document, Key
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture, quote_writes
from kapy.testing.conformance.write_log import Write

PART: Final = "ipam"
_CLAIM: Final = IPAddressClaim.RESOURCE
_ADDRESS: Final = IPAddress.RESOURCE
_SEVERAL: Final = 3
_TOUCH: Final[Document] = {"metadata": {"annotations": {"conformance": "touched"}}}


async def watch(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a claim gets an address."""
    await create_claim(fixture)
    if await _wait_for_address(fixture) is None:
        yield _fault(
            fixture,
            "",
            f"in {fixture.timeouts.within:g} seconds no IPAddress was made for it",
            "watch IPAddressClaims, and answer those whose spec.poolRef names a pool of this kind",
        )


async def others(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a claim on a pool of another API group is ignored."""
    pool = await _pool(fixture)
    await fixture.core.cluster(fixture.cluster)
    since = fixture.write_position()
    await _claim(fixture, NAME, {**pool, "apiGroup": "ipam.conformance.example"})
    await fixture.settle()
    if wrong := _about(fixture.writes(since)):
        yield _fault(
            fixture,
            "spec.poolRef",
            f"it names a pool of another API group, and yet: {quote_writes(wrong)}",
            "compare both apiGroup and kind before anything is done for a claim",
        )


async def paused(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that no address is allocated while the Cluster is paused or does not exist."""
    pool = await _pool(fixture)
    since = fixture.write_position()
    await _claim(fixture, NAME, pool)
    await fixture.settle()
    for finding in _violations(fixture, since, "its Cluster is not there"):
        yield finding
    await fixture.core.cluster(fixture.cluster, paused=True)
    await fixture.settle()
    for finding in _violations(fixture, since, "spec.paused of its Cluster is true"):
        yield finding
    annotations = {Annotation.PAUSED: ""}
    await fixture.patch(
        {"metadata": {"annotations": annotations}}, fixture.cluster, Cluster.RESOURCE
    )
    await fixture.patch({"spec": {"paused": None}}, fixture.cluster, Cluster.RESOURCE)
    await fixture.settle()
    for finding in _violations(
        fixture, since, f"its Cluster has the annotation {Annotation.PAUSED}"
    ):
        yield finding


def _violations(fixture: Fixture, since: int, how: str) -> list[Finding]:
    wrong = [write for write in _about(fixture.writes(since)) if write.plural == _ADDRESS.plural]
    remedy = "look at the Cluster that spec.clusterName names before an address is allocated"
    return [_fault(fixture, "spec.clusterName", f"{how}, and yet: {quote_writes(wrong)}", remedy)][
        : len(wrong)
    ]


async def finalizer(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the claim has a finalizer before the address is created."""
    await create_claim(fixture)
    await _address(fixture)
    finalizers: list[str] = []
    for write in _about(fixture.writes()):
        if write.plural == _CLAIM.plural:
            finalizers = _finalizers(write.after) or finalizers
        elif write.created:
            break
    claim = await fixture.read(NAME, _CLAIM)
    if not finalizers and not _finalizers(claim):
        raise NotApplicable("the provider sets no finalizer on claims")
    if not finalizers:
        yield _fault(
            fixture,
            "metadata.finalizers",
            "there is none yet when the IPAddress is created",
            "store the finalizer by a write of its own, before an address is allocated",
        )


async def unique(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that concurrent claims get different addresses, which do not change."""
    pool = await _pool(fixture)
    await fixture.core.cluster(fixture.cluster)
    names = [f"{NAME}-{number}" for number in range(_SEVERAL)]
    for name in names:
        await _claim(fixture, name, pool)
    addresses = {name: await _address(fixture, name) for name in names}
    text = {name: _ip(address) for name, address in addresses.items()}
    twice = [name for name in names if list(text.values()).count(text[name]) > 1]
    if twice:
        yield _fault(
            fixture,
            "spec.address",
            f"{' and '.join(twice)} have the same address, {text[twice[0]]}",
            "allocate and record an address in one step that nobody can do at the same time",
            twice[0],
            _ADDRESS.kind,
        )
    for name in names:
        await fixture.patch(_TOUCH, name, _CLAIM)
    await fixture.settle()
    for name in names:
        called = addresses[name]["metadata"]["name"]
        result = _ip((await fixture.read(called, _ADDRESS)) or {})
        if result != text[name]:
            evidence = f'it was {text[name]}, and is "{result}" after its claim was touched'
            remedy = "look for the IPAddress before another address is allocated"
            yield _fault(fixture, "spec.address", evidence, remedy, name, _ADDRESS.kind)


async def name(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the IPAddress has the name of its claim."""
    await create_claim(fixture)
    claim = await _wait_for_address(fixture)
    called = _reference(claim or {}) or _created_address(fixture)
    if not called:
        raise CannotRun("no IPAddress was made")
    if called != NAME:
        remedy = "give the IPAddress the name of its claim"
        yield _fault(
            fixture, "metadata.name", f"the claim is called {NAME}", remedy, called, "IPAddress"
        )


async def claim_owner(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the claim is the controller of its address."""
    await create_claim(fixture)
    address, claim = await _address(fixture), await fixture.read(NAME, _CLAIM)
    if finding := _not_owned(fixture, address, claim or {}, controller=True):
        yield finding


async def pool_owner(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the pool is an owner of the address, but not its controller."""
    await create_claim(fixture)
    address = await _address(fixture)
    pool = await fixture.client.get(fixture.kind.resource, _pool_key(fixture))
    if finding := _not_owned(fixture, address, pool, controller=False):
        yield finding


def _not_owned(
    fixture: Fixture, address: Document, owner: Document, *, controller: bool
) -> Finding | None:
    owners = address["metadata"].get("ownerReferences") or ()
    uid, who = owner["metadata"]["uid"], f"{owner['kind']} {owner['metadata']['name']}"
    result = next((item for item in owners if item.get("uid") == uid), None)
    wanted = f"controller: {str(controller).lower()} and blockOwnerDeletion: true"
    if result is None:
        evidence = f"{who} is not among them"
    elif bool(result.get("controller")) != controller or not result.get("blockOwnerDeletion"):
        evidence = f"that to {who} is {result}"
    else:
        return None
    remedy = f"set an owner reference to {who} with {wanted}"
    called = address["metadata"]["name"]
    return _fault(fixture, "metadata.ownerReferences", evidence, remedy, called, _ADDRESS.kind)


async def protection(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that an address which a user deletes stays while its claim exists."""
    await create_claim(fixture)
    address = await _address(fixture)
    if not _finalizers(address):
        yield _fault(
            fixture,
            "metadata.finalizers",
            "it has none",
            "create it with a finalizer such as ipam.cluster.x-k8s.io/ProtectAddress",
            address["metadata"]["name"],
            _ADDRESS.kind,
        )


async def address_ref(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the claim's status refers to its address."""
    await create_claim(fixture)
    address = await _address(fixture)
    called = address["metadata"]["name"]
    claim = await fixture.wait_for(lambda value: _reference(value) == called, NAME, _CLAIM)
    if claim is None:
        result = _reference((await fixture.read(NAME, _CLAIM)) or {})
        evidence = f'it is "{result}", and the IPAddress is called {called}'
        remedy = "store the name of the IPAddress there, by an update of the status"
        yield _fault(fixture, "status.addressRef.name", evidence, remedy)


async def release(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a deleted claim and its address disappear, and that the claim can be created
    again.
    """
    await create_claim(fixture)
    called = (await _address(fixture))["metadata"]["name"]
    await fixture.delete(NAME, _CLAIM)
    if not await fixture.wait_until_gone(NAME, _CLAIM):
        yield _fault(
            fixture,
            "metadata.finalizers",
            f"it was deleted, and {fixture.timeouts.within:g} seconds later it is still there",
            "free the address, delete the IPAddress, remove the finalizer",
        )
        return
    if not await fixture.wait_until_gone(called, _ADDRESS):
        yield _fault(
            fixture,
            "metadata.finalizers",
            "its claim is gone, and it is still there",
            "delete the IPAddress, and remove its finalizers, before that of the claim",
            called,
            _ADDRESS.kind,
        )
        return
    await _claim(fixture, NAME, _pool_reference(fixture))
    if await _wait_for_address(fixture) is None:
        evidence = "its address was freed, and a new claim of that name gets none"
        yield _fault(fixture, "status.addressRef", evidence, "free the address in the pool, too")


async def create_claim(fixture: Fixture) -> None:
    """Create a Cluster, a pool and a claim on it."""
    pool = await _pool(fixture)
    await fixture.core.cluster(fixture.cluster)
    await _claim(fixture, NAME, pool)


async def wait_until_bound(fixture: Fixture) -> bool:
    """Wait until the claim refers to its address; return whether it did in time."""
    return await fixture.wait_for(lambda value: bool(_reference(value)), NAME, _CLAIM) is not None


async def delete_claim(fixture: Fixture) -> None:
    """Delete the claim that `create_claim` created."""
    await fixture.delete(NAME, _CLAIM)


async def wait_until_gone(fixture: Fixture) -> bool:
    """Wait until the claim is deleted; return whether it was in time."""
    return await fixture.wait_until_gone(NAME, _CLAIM)


async def _pool(fixture: Fixture) -> Document:
    """Create the pool of the example and return a reference to it."""
    key, example = _pool_key(fixture), fixture.example()
    metadata = {**example["metadata"], "name": key.name}
    if key.namespace:
        metadata["namespace"] = key.namespace
    await fixture.client.create(fixture.kind.resource, {**example, "metadata": metadata})
    return _pool_reference(fixture)


def _pool_reference(fixture: Fixture) -> Document:
    resource = fixture.kind.resource
    return {"name": _pool_key(fixture).name, "kind": resource.kind, "apiGroup": resource.group}


def _pool_key(fixture: Fixture) -> Key:
    """Return the key of the pool; a cluster-scoped pool is named after the fixture's namespace."""
    if fixture.kind.resource.namespaced:
        return fixture.key(NAME)
    return Key("", fixture.namespace)


async def _claim(fixture: Fixture, called: str, pool: Document) -> None:
    document = {
        "apiVersion": _CLAIM.api_version,
        "kind": _CLAIM.kind,
        "metadata": {"name": called, "namespace": fixture.namespace},
        "spec": {"clusterName": fixture.cluster, "poolRef": pool},
    }
    await fixture.client.create(_CLAIM, document)


async def _wait_for_address(fixture: Fixture, called: str = NAME) -> Document | None:
    """Wait until there is an address for a claim and the claim refers to it, if it ever does."""

    def text(value: Document) -> bool:
        return bool(_reference(value))

    wait = await fixture.wait_for(text, called, _CLAIM)
    return wait or (await fixture.read(called, _CLAIM) if _created_address(fixture) else None)


async def _address(fixture: Fixture, called: str = NAME) -> Document:
    """Return the address of a claim. Raises CannotRun."""
    claim = await _wait_for_address(fixture, called)
    reference = _reference(claim or {}) or _created_address(fixture, called)
    result = await fixture.read(reference, _ADDRESS) if reference else None
    if result is None:
        raise CannotRun(f"no IPAddress was made for {called}")
    return result


def _created_address(fixture: Fixture, called: str = NAME) -> str:
    """Return the name of the address that was created for a claim, from the recorded writes."""
    for write in fixture.writes():
        if write.created and write.plural == _ADDRESS.plural and write.after is not None:
            claim = (write.after.get("spec") or {}).get("claimRef") or {}
            if claim.get("name") == called:
                return write.key.name
    return ""


def _reference(claim: Document) -> str:
    ref = (claim.get("status") or {}).get("addressRef") or {}
    return str(ref.get("name") or "")


def _ip(address: Document) -> str:
    return str((address.get("spec") or {}).get("address") or "")


def _finalizers(document: Document | None) -> list[str]:
    return list(((document or {}).get("metadata") or {}).get("finalizers") or ())


def _about(writes: list[Write]) -> list[Write]:
    """Return the writes to claims and addresses."""
    return [write for write in writes if write.plural in (_CLAIM.plural, _ADDRESS.plural)]


def _fault(
    fixture: Fixture,
    field: str,
    evidence: str,
    remedy: str,
    called: str = NAME,
    kind: str = _CLAIM.kind,
) -> Finding:
    return fixture.finding(field, evidence, remedy, called, kind)


_LOOKS: Final[dict[str, Callable[[Fixture], Any]]] = {
    "watch": watch,
    "others": others,
    "paused": paused,
    "finalizer": finalizer,
    "unique": unique,
    "name": name,
    "claim-owner": claim_owner,
    "pool-owner": pool_owner,
    "protection": protection,
    "address-ref": address_ref,
    "release": release,
}
CHECKS: Final = [Check(f"{PART}/{rule}", run) for rule, run in _LOOKS.items()]
