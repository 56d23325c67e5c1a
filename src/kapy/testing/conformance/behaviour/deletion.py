"""Checks of objects that are being deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, SECRETS
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture, quote_writes
from kapy.testing.conformance.write_log import Write

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


async def deletion(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a deleted object and everything that was made for it disappear, whatever is
    missing.
    """
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    created = [
        write for write in fixture.writes() if write.created and setup.is_created_for(write, NAME)
    ]
    await fixture.delete()
    if not await fixture.wait_until_gone():
        yield _stays(fixture, "it was provisioned")
        return
    await fixture.settle()
    if remaining := [write for write in created if await _is_there(fixture, write)]:
        evidence = f"it is gone, and what was made for it is still there: {quote_writes(remaining)}"
        remedy = "delete what was made before the finalizer goes, or make the object its owner"
        yield fixture.finding("", evidence, remedy)


async def early_deletion(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a machine can be deleted before its cluster is ready, and without data or
    Machine.
    """
    await setup.create_cluster(fixture, ready=False)
    for name in _UNREADY:
        await setup.create_owned(fixture, name, data=name != "no-data")
    await fixture.settle()
    await fixture.client.delete(Machine.RESOURCE, fixture.key("no-owner"))
    for name, how in _UNREADY.items():
        if await fixture.read(name) is not None:
            await fixture.delete(name)
        if not await fixture.wait_until_gone(name):
            yield _stays(fixture, how, name)


def _stays(fixture: Fixture, how: str, name: str = NAME) -> Finding:
    return fixture.finding(
        "metadata.finalizers",
        f"{how}, then deleted, and {fixture.timeouts.within:g} seconds later it is still there",
        "free what was made, then remove the finalizer; where nothing was made, remove it at once",
        name,
    )


async def _is_there(fixture: Fixture, write: Write) -> bool:
    kinds = (*(item.resource for item in fixture.session.provider.kinds), *_OTHERS)
    for kind in kinds:
        if (kind.plural, kind.group) == (write.plural, write.group):
            result = await fixture.read(write.key.name, kind)
            return result is not None and not _is_of_cluster(result)
    return False


def _is_of_cluster(document: Document) -> bool:
    """Return whether the Cluster owns the object, as it owns what all objects of a cluster
    share.
    """
    owners = document["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == Cluster.RESOURCE.kind for owner in owners)


async def stopped(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that an object with a terminal failure is left unchanged but can be deleted."""
    if fixture.kind.contract is not Version.V1BETA1:
        raise NotApplicable("there are no terminal failures in the v1beta2 contract")
    await setup.create_complete(fixture, annotations=_PAUSED)
    if not (await _fail(fixture, NAME)).get("failureReason"):
        raise NotApplicable("objects have no status.failureReason")
    await fixture.patch(_RESUMED)
    await fixture.settle()
    if wrong := setup.evidence_of_work(fixture, fixture.writes()):
        evidence = f"it is set, and yet: {quote_writes(wrong)}"
        remedy = "exit where status.failureReason or status.failureMessage is set"
        yield fixture.finding("status.failureReason", evidence, remedy)
        return
    await setup.create_owned(fixture, _LATER)
    await setup.wait_until_done(fixture, _LATER)
    await _fail(fixture, _LATER)
    await fixture.delete(_LATER)
    if not await fixture.wait_until_gone(_LATER):
        yield _stays(fixture, "status.failureReason was set", _LATER)


async def _fail(fixture: Fixture, name: str) -> Document:
    """Set a terminal failure on an object; return the stored status."""
    stored = await fixture.patch(_FAILED, name, part="status")
    status: Document = stored.get("status") or {}
    return status
