"""What IPAM providers are asked for: an address for each claim on one of their pools."""

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
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.scene import NAME, Scene, quoted

PART: Final = "ipam"
_CLAIM: Final = IPAddressClaim.RESOURCE
_ADDRESS: Final = IPAddress.RESOURCE
_SEVERAL: Final = 3
_TOUCH: Final[Document] = {"metadata": {"annotations": {"conformance": "touched"}}}


async def watch(scene: Scene) -> AsyncIterator[Finding]:
    """A claim gets an address."""
    await claimed(scene)
    if await _answered(scene) is None:
        yield _fault(
            scene,
            "",
            f"in {scene.patience.within:g} seconds no IPAddress was made for it",
            "watch IPAddressClaims, and answer those whose spec.poolRef names a pool of this kind",
        )


async def others(scene: Scene) -> AsyncIterator[Finding]:
    """A claim on a pool of another group is somebody else's."""
    pool = await _pool(scene)
    await scene.core.cluster(scene.cluster)
    since = scene.mark()
    await _claim(scene, NAME, {**pool, "apiGroup": "ipam.conformance.example"})
    await scene.quiet()
    if wrong := _about(scene.writes(since)):
        yield _fault(
            scene,
            "spec.poolRef",
            f"it names a pool of another API group, and yet: {quoted(wrong)}",
            "compare both apiGroup and kind before anything is done for a claim",
        )


async def paused(scene: Scene) -> AsyncIterator[Finding]:
    """Nothing is done for a Cluster that is paused, either way, or not there."""
    pool = await _pool(scene)
    since = scene.mark()
    await _claim(scene, NAME, pool)
    await scene.quiet()
    for finding in _did(scene, since, "its Cluster is not there"):
        yield finding
    await scene.core.cluster(scene.cluster, paused=True)
    await scene.quiet()
    for finding in _did(scene, since, "spec.paused of its Cluster is true"):
        yield finding
    annotations = {Annotation.PAUSED: ""}
    await scene.patch({"metadata": {"annotations": annotations}}, scene.cluster, Cluster.RESOURCE)
    await scene.patch({"spec": {"paused": None}}, scene.cluster, Cluster.RESOURCE)
    await scene.quiet()
    for finding in _did(scene, since, f"its Cluster has the annotation {Annotation.PAUSED}"):
        yield finding


def _did(scene: Scene, since: int, how: str) -> list[Finding]:
    wrong = [one for one in _about(scene.writes(since)) if one.plural == _ADDRESS.plural]
    mend = "look at the Cluster that spec.clusterName names before an address is allocated"
    return [_fault(scene, "spec.clusterName", f"{how}, and yet: {quoted(wrong)}", mend)][
        : len(wrong)
    ]


async def finalizer(scene: Scene) -> AsyncIterator[Finding]:
    """The claim has its finalizer before there is an address."""
    await claimed(scene)
    await _address(scene)
    finalizers: list[str] = []
    for write in _about(scene.writes()):
        if write.plural == _CLAIM.plural:
            finalizers = _finalizers(write.after) or finalizers
        elif write.created:
            break
    claim = await scene.read(NAME, _CLAIM)
    if not finalizers and not _finalizers(claim):
        raise NotApplicable("the provider sets no finalizer on claims")
    if not finalizers:
        yield _fault(
            scene,
            "metadata.finalizers",
            "there is none yet when the IPAddress is created",
            "store the finalizer by a write of its own, before an address is allocated",
        )


async def unique(scene: Scene) -> AsyncIterator[Finding]:
    """Several claims at once get different addresses, which stay what they are."""
    pool = await _pool(scene)
    await scene.core.cluster(scene.cluster)
    names = [f"{NAME}-{number}" for number in range(_SEVERAL)]
    for name in names:
        await _claim(scene, name, pool)
    addresses = {name: await _address(scene, name) for name in names}
    told = {name: _ip(one) for name, one in addresses.items()}
    twice = [name for name in names if list(told.values()).count(told[name]) > 1]
    if twice:
        yield _fault(
            scene,
            "spec.address",
            f"{' and '.join(twice)} have the same address, {told[twice[0]]}",
            "allocate and record an address in one step that nobody can do at the same time",
            twice[0],
            _ADDRESS.kind,
        )
    for name in names:
        await scene.patch(_TOUCH, name, _CLAIM)
    await scene.quiet()
    for name in names:
        called = addresses[name]["metadata"]["name"]
        found = _ip((await scene.read(called, _ADDRESS)) or {})
        if found != told[name]:
            evidence = f'it was {told[name]}, and is "{found}" after its claim was touched'
            mend = "look for the IPAddress before another address is allocated"
            yield _fault(scene, "spec.address", evidence, mend, name, _ADDRESS.kind)


async def name(scene: Scene) -> AsyncIterator[Finding]:
    """The IPAddress is called as its claim."""
    await claimed(scene)
    claim = await _answered(scene)
    called = _reference(claim or {}) or _made(scene)
    if not called:
        raise CannotRun("no IPAddress was made")
    if called != NAME:
        mend = "give the IPAddress the name of its claim"
        yield _fault(
            scene, "metadata.name", f"the claim is called {NAME}", mend, called, "IPAddress"
        )


async def claim_owner(scene: Scene) -> AsyncIterator[Finding]:
    """The claim is the controller of its address."""
    await claimed(scene)
    address, claim = await _address(scene), await scene.read(NAME, _CLAIM)
    if finding := _not_owned(scene, address, claim or {}, controller=True):
        yield finding


async def pool_owner(scene: Scene) -> AsyncIterator[Finding]:
    """The pool owns it as well, without being its controller."""
    await claimed(scene)
    address = await _address(scene)
    pool = await scene.client.get(scene.kind.resource, _pool_key(scene))
    if finding := _not_owned(scene, address, pool, controller=False):
        yield finding


def _not_owned(
    scene: Scene, address: Document, owner: Document, *, controller: bool
) -> Finding | None:
    owners = address["metadata"].get("ownerReferences") or ()
    uid, who = owner["metadata"]["uid"], f"{owner['kind']} {owner['metadata']['name']}"
    found = next((one for one in owners if one.get("uid") == uid), None)
    wanted = f"controller: {str(controller).lower()} and blockOwnerDeletion: true"
    if found is None:
        evidence = f"{who} is not among them"
    elif bool(found.get("controller")) != controller or not found.get("blockOwnerDeletion"):
        evidence = f"that to {who} is {found}"
    else:
        return None
    mend = f"set an owner reference to {who} with {wanted}"
    called = address["metadata"]["name"]
    return _fault(scene, "metadata.ownerReferences", evidence, mend, called, _ADDRESS.kind)


async def protection(scene: Scene) -> AsyncIterator[Finding]:
    """Somebody who deletes the address by mistake does not make it go."""
    await claimed(scene)
    address = await _address(scene)
    if not _finalizers(address):
        yield _fault(
            scene,
            "metadata.finalizers",
            "it has none",
            "create it with a finalizer such as ipam.cluster.x-k8s.io/ProtectAddress",
            address["metadata"]["name"],
            _ADDRESS.kind,
        )


async def address_ref(scene: Scene) -> AsyncIterator[Finding]:
    """The claim names its address."""
    await claimed(scene)
    address = await _address(scene)
    called = address["metadata"]["name"]
    claim = await scene.reached(lambda one: _reference(one) == called, NAME, _CLAIM)
    if claim is None:
        found = _reference((await scene.read(NAME, _CLAIM)) or {})
        evidence = f'it is "{found}", and the IPAddress is called {called}'
        mend = "store the name of the IPAddress there, by an update of the status"
        yield _fault(scene, "status.addressRef.name", evidence, mend)


async def release(scene: Scene) -> AsyncIterator[Finding]:
    """A claim that is deleted goes, with its address, and can be made again."""
    await claimed(scene)
    called = (await _address(scene))["metadata"]["name"]
    await scene.delete(NAME, _CLAIM)
    if not await scene.gone(NAME, _CLAIM):
        yield _fault(
            scene,
            "metadata.finalizers",
            f"it was deleted, and {scene.patience.within:g} seconds later it is still there",
            "free the address, delete the IPAddress, remove the finalizer",
        )
        return
    if not await scene.gone(called, _ADDRESS):
        yield _fault(
            scene,
            "metadata.finalizers",
            "its claim is gone, and it is still there",
            "delete the IPAddress, and remove its finalizers, before that of the claim",
            called,
            _ADDRESS.kind,
        )
        return
    await _claim(scene, NAME, _pool_reference(scene))
    if await _answered(scene) is None:
        evidence = "its address was freed, and a new claim of that name gets none"
        yield _fault(scene, "status.addressRef", evidence, "free the address in the pool, too")


async def claimed(scene: Scene) -> None:
    """A Cluster, a pool and a claim on it."""
    pool = await _pool(scene)
    await scene.core.cluster(scene.cluster)
    await _claim(scene, NAME, pool)


async def is_answered(scene: Scene) -> bool:
    """Wait until the claim names its address; whether that came."""
    return await scene.reached(lambda one: bool(_reference(one)), NAME, _CLAIM) is not None


async def end(scene: Scene) -> None:
    """Delete the claim."""
    await scene.delete(NAME, _CLAIM)


async def is_gone(scene: Scene) -> bool:
    """Wait until it is; whether that came."""
    return await scene.gone(NAME, _CLAIM)


async def _pool(scene: Scene) -> Document:
    """Create the pool of the example. Returns a reference to it."""
    key, example = _pool_key(scene), scene.example()
    metadata = {**example["metadata"], "name": key.name}
    if key.namespace:
        metadata["namespace"] = key.namespace
    await scene.client.create(scene.kind.resource, {**example, "metadata": metadata})
    return _pool_reference(scene)


def _pool_reference(scene: Scene) -> Document:
    resource = scene.kind.resource
    return {"name": _pool_key(scene).name, "kind": resource.kind, "apiGroup": resource.group}


def _pool_key(scene: Scene) -> Key:
    """Pools without a namespace are called after that of the scene."""
    if scene.kind.resource.namespaced:
        return scene.key(NAME)
    return Key("", scene.namespace)


async def _claim(scene: Scene, called: str, pool: Document) -> None:
    document = {
        "apiVersion": _CLAIM.api_version,
        "kind": _CLAIM.kind,
        "metadata": {"name": called, "namespace": scene.namespace},
        "spec": {"clusterName": scene.cluster, "poolRef": pool},
    }
    await scene.client.create(_CLAIM, document)


async def _answered(scene: Scene, called: str = NAME) -> Document | None:
    """Wait until there is an address for a claim, and it is told of it if it ever is."""

    def told(one: Document) -> bool:
        return bool(_reference(one))

    found = await scene.reached(told, called, _CLAIM)
    return found or (await scene.read(called, _CLAIM) if _made(scene) else None)


async def _address(scene: Scene, called: str = NAME) -> Document:
    """The address that was made for a claim. Raises CannotRun."""
    claim = await _answered(scene, called)
    made = _reference(claim or {}) or _made(scene, called)
    found = await scene.read(made, _ADDRESS) if made else None
    if found is None:
        raise CannotRun(f"no IPAddress was made for {called}")
    return found


def _made(scene: Scene, called: str = NAME) -> str:
    """The name of the address that was made for a claim, as the server heard."""
    for write in scene.writes():
        if write.created and write.plural == _ADDRESS.plural and write.after is not None:
            claim = (write.after.get("spec") or {}).get("claimRef") or {}
            if claim.get("name") == called:
                return write.key.name
    return ""


def _reference(claim: Document) -> str:
    found = (claim.get("status") or {}).get("addressRef") or {}
    return str(found.get("name") or "")


def _ip(address: Document) -> str:
    return str((address.get("spec") or {}).get("address") or "")


def _finalizers(document: Document | None) -> list[str]:
    return list(((document or {}).get("metadata") or {}).get("finalizers") or ())


def _about(writes: list[Write]) -> list[Write]:
    """Those to claims and addresses."""
    return [one for one in writes if one.plural in (_CLAIM.plural, _ADDRESS.plural)]


def _fault(
    scene: Scene, field: str, evidence: str, mend: str, called: str = NAME, kind: str = _CLAIM.kind
) -> Finding:
    return scene.fault(field, evidence, mend, called, kind)


_LOOKS: Final[dict[str, Callable[[Scene], Any]]] = {
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
CHECKS: Final = [Check(f"{PART}/{rule}", look) for rule, look in _LOOKS.items()]
