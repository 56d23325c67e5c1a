"""The kit deletes what it has made, and waits until the provider has freed what is behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import Resource
from kapy.kube.nested import value_at
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.findings import Remainder
from kapy.testing.conformance.scene import World
from kapy.testing.conformance.session import Session
from kapy.testing.conformance.subject import Limits, Subject

_STEP: Final = 0.05
"""Seconds until an object is looked for again of which our watch has not told yet."""
_FREED: Final[Document] = {
    "metadata": {"annotations": {Annotation.PAUSED: None, Annotation.MANAGED_BY: None}}
}


@dataclass(frozen=True)
class Left:
    """An object that is still there."""

    resource: Resource
    document: Document

    @property
    def key(self) -> Key:
        """Where it is."""
        return Key.of(self.document)


@asynccontextmanager
async def cleared(world: World, session: Session) -> AsyncIterator[None]:
    """Whatever becomes of the body, no object is left in the end that the provider can free.

    It is started again for that, where it has ended. `session.remains` gets the objects that are
    still there then.
    """
    try:
        yield
    finally:
        left = await _present(world, world.ground.namespaces, freeing=True)
        try:
            if left:
                session.tell(f"Objects remain ({len(left)}): they are deleted now")
                left = await _freed(world, left)
        finally:  # also when nobody wants to wait for that
            embedded = world.ground.embedded
            session.remains += [_remainder(one, embedded=embedded) for one in left]


async def _freed(world: World, left: list[Left]) -> list[Left]:
    """Delete all objects while the provider runs. Returns those that do not go."""
    with suppress(SubjectError):
        async with world.subject.way.running(world.ground, Limits()):
            return await clear(world, world.ground.namespaces)
    return await _present(world, world.ground.namespaces, freeing=True) or left


async def clear(world: World, namespaces: Collection[str]) -> list[Left]:
    """Delete the objects in namespaces, as core does: machines before their cluster.

    Returns those that are still there when the patience is over.
    """
    world.cleared.update(namespaces)
    with suppress(KapyError):
        await _resume(world, namespaces)
    left: list[Left] = []
    for phase in _phases(world.subject):
        found = await _of(world, phase, namespaces)
        for one in found:
            with suppress(KapyError):
                await _delete(world, one)
        gone = await asyncio.gather(*(_is_gone(world, one) for one in found))
        left += [one for one, went in zip(found, gone, strict=True) if not went]
    return left


def _phases(subject: Subject) -> Sequence[Sequence[Resource]]:
    """Kinds in the order in which their objects go: first what makes or uses others."""

    def of(*roles: str) -> list[Resource]:
        return [one.resource for role in roles for one in subject.of(role)]

    return (
        of("control-plane", "infra-machinepool"),
        of("infra-machine", "bootstrap-config"),
        (Machine.RESOURCE, MachinePool.RESOURCE),
        (IPAddressClaim.RESOURCE,),
        of("infra-cluster"),
        (Cluster.RESOURCE, IPAddress.RESOURCE, *of("ipam")),
    )


async def _resume(world: World, namespaces: Collection[str]) -> None:
    """Let the provider go on where it was told to pause."""
    for one in await _of(world, (Cluster.RESOURCE,), namespaces):
        paused = value_at(one.document, ("spec", "paused"))
        if paused or Annotation.PAUSED in (one.document["metadata"].get("annotations") or {}):
            patch = {**_FREED, "spec": {"paused": None}}
            await world.client.patch(one.resource, one.key, patch)


async def _delete(world: World, one: Left) -> None:
    with suppress(NotFound):
        await world.client.delete(one.resource, one.key)
        annotations = one.document["metadata"].get("annotations") or {}
        if {Annotation.PAUSED, Annotation.MANAGED_BY} & annotations.keys():
            await world.client.patch(one.resource, one.key, _FREED)


async def _is_gone(world: World, one: Left) -> bool:
    """Wait until it is; whether that came in time."""
    with suppress(TimeoutError, KapyError):
        async with asyncio.timeout(world.patience.within):
            await world.seen.follow(one.resource)
            while await _is_there(world, one):
                if world.seen.last(one.resource, one.key) is None:
                    # A timer: the object is younger than what our watch knows.
                    await asyncio.sleep(_STEP)
                else:
                    within = world.patience.within
                    await world.seen.until(one.resource, one.key, _is_none, within)
            return True
    return False


def _is_none(document: Document | None) -> bool:
    return document is None


async def _is_there(world: World, one: Left) -> bool:
    try:
        await world.client.get(one.resource, one.key)
    except NotFound:
        return False
    return True


async def _present(world: World, namespaces: Collection[str], *, freeing: bool) -> list[Left]:
    """The objects that are there. freeing: only those that somebody has to let go."""
    found: list[Left] = []
    for phase in _phases(world.subject):
        found += await _of(world, phase, namespaces)
    if freeing and world.ground.embedded:
        return [one for one in found if one.document["metadata"].get("finalizers")]
    return found


async def _of(
    world: World, resources: Iterable[Resource], namespaces: Collection[str]
) -> list[Left]:
    """The objects of kinds in namespaces; those without a namespace are called after one."""
    found: list[Left] = []
    for resource in resources:
        with suppress(KapyError):  # it may not be installed, or the server be away
            only = next(iter(namespaces)) if len(namespaces) == 1 else ""
            within = only if resource.namespaced else ""
            listed = await world.client.list(resource, within)
            found += [Left(resource, one) for one in listed.items if _is_ours(one, namespaces)]
    return found


def _is_ours(document: Document, namespaces: Collection[str]) -> bool:
    metadata = document["metadata"]
    return metadata.get("namespace", metadata["name"]) in namespaces


def _remainder(one: Left, *, embedded: bool) -> Remainder:
    metadata, key = one.document["metadata"], one.key
    place = f"{one.resource.kind} {key}"
    facts = [f"finalizer {name}" for name in metadata.get("finalizers") or ()]
    if identity := value_at(one.document, ("spec", "providerID")):
        facts.insert(0, f"providerID {identity}")
    if host := value_at(one.document, ("spec", "controlPlaneEndpoint", "host")):
        facts.insert(0, f"endpoint {host}")
    called = f"{place} ({', '.join(facts)})" if facts else place
    if embedded:
        return Remainder(
            called,
            "the provider did not let it go, and the API server that knew it has ended: look for "
            "these names in what the provider has made, and remove that by hand",
        )
    where = f"-n {key.namespace} " if key.namespace else ""
    resource = one.resource.group_resource
    return Remainder(
        called,
        f"kubectl {where}delete {resource} {key.name}; where the provider never lets it go, free "
        f"what it has made by hand, then: kubectl {where}patch {resource} {key.name} --type merge "
        """-p '{"metadata":{"finalizers":null}}'""",
    )
