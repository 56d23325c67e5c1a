"""Objects that are to go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, SECRETS
from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.scene import NAME, Scene, quoted

_PAUSED: Final = {Annotation.PAUSED: ""}
_RESUMED: Final[Document] = {"metadata": {"annotations": {Annotation.PAUSED: None}}}
_FAILED: Final[Document] = {
    "status": {"failureReason": "CreateError", "failureMessage": "set by the conformance kit"}
}
_OTHERS: Final = (SECRETS, CONFIG_MAPS, Machine.RESOURCE)
_LATER: Final = "worker-1"
_UNREADY: Final = {
    "not-ready": "its Cluster's infrastructure was not provisioned",
    "no-data": "its Machine had no bootstrap data",
    "no-owner": "its Machine was gone",
}


async def deletion(scene: Scene) -> AsyncIterator[Finding]:
    """What is deleted goes, with what the provider made for it, whatever is missing around it."""
    await stage.whole(scene)
    await stage.done(scene)
    created = [one for one in scene.writes() if one.created and stage.is_for(one, NAME)]
    await scene.delete()
    if not await scene.gone():
        yield _stays(scene, "it was provisioned")
        return
    await scene.quiet()
    if left := [one for one in created if await _is_there(scene, one)]:
        evidence = f"it is gone, and what was made for it is still there: {quoted(left)}"
        mend = "delete what was made before the finalizer goes, or make the object its owner"
        yield scene.fault("", evidence, mend)


async def early_deletion(scene: Scene) -> AsyncIterator[Finding]:
    """A machine goes before its cluster is ready, without bootstrap data, without its Machine."""
    await stage.cluster(scene, ready=False)
    for name in _UNREADY:
        await stage.owned(scene, name, data=name != "no-data")
    await scene.quiet()
    await scene.client.delete(Machine.RESOURCE, scene.key("no-owner"))
    for name, how in _UNREADY.items():
        if await scene.read(name) is not None:
            await scene.delete(name)
        if not await scene.gone(name):
            yield _stays(scene, how, name)


def _stays(scene: Scene, how: str, name: str = NAME) -> Finding:
    return scene.fault(
        "metadata.finalizers",
        f"{how}, then deleted, and {scene.patience.within:g} seconds later it is still there",
        "free what was made, then remove the finalizer; where nothing was made, remove it at once",
        name,
    )


async def _is_there(scene: Scene, write: Write) -> bool:
    kinds = (*(one.resource for one in scene.world.subject.kinds), *_OTHERS)
    for one in kinds:
        if (one.plural, one.group) == (write.plural, write.group):
            found = await scene.read(write.key.name, one)
            return found is not None and not _is_of_cluster(found)
    return False


def _is_of_cluster(document: Document) -> bool:
    """Whether it goes with the Cluster, as what all objects of a cluster share."""
    owners = document["metadata"].get("ownerReferences") or ()
    return any(one["kind"] == Cluster.RESOURCE.kind for one in owners)


async def stopped(scene: Scene) -> AsyncIterator[Finding]:
    """What has failed for good is left as it is, but can be deleted."""
    if scene.kind.contract is not Version.V1BETA1:
        raise NotApplicable("there are no terminal failures in the v1beta2 contract")
    await stage.whole(scene, annotations=_PAUSED)
    if not (await _fail(scene, NAME)).get("failureReason"):
        raise NotApplicable("objects have no status.failureReason")
    await scene.patch(_RESUMED)
    await scene.quiet()
    if wrong := stage.begun(scene, scene.writes()):
        evidence = f"it is set, and yet: {quoted(wrong)}"
        mend = "exit where status.failureReason or status.failureMessage is set"
        yield scene.fault("status.failureReason", evidence, mend)
        return
    await stage.owned(scene, _LATER)
    await stage.done(scene, _LATER)
    await _fail(scene, _LATER)
    await scene.delete(_LATER)
    if not await scene.gone(_LATER):
        yield _stays(scene, "status.failureReason was set", _LATER)


async def _fail(scene: Scene, name: str) -> Document:
    """Say that an object has failed for good; returns its status."""
    stored = await scene.patch(_FAILED, name, part="status")
    found: Document = stored.get("status") or {}
    return found
