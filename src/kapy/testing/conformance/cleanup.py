"""Delete the objects that the conformance kit created, and wait until the provider has released its
infrastructure.
"""

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
from kapy.testing.conformance.findings import Leftover
from kapy.testing.conformance.fixture import Session
from kapy.testing.conformance.provider_under_test import Limits, ProviderUnderTest
from kapy.testing.conformance.run_context import RunContext

_STEP: Final = 0.05
"""Seconds until an object is read again if the watch has not delivered its change yet."""
_FREED: Final[Document] = {
    "metadata": {"annotations": {Annotation.PAUSED: None, Annotation.MANAGED_BY: None}}
}


@dataclass(frozen=True)
class RemainingObject:
    """An object that still exists."""

    resource: Resource
    document: Document

    @property
    def key(self) -> Key:
        """The key of the object."""
        return Key.of(self.document)


@asynccontextmanager
async def cleanup_on_exit(session: Session, context: RunContext) -> AsyncIterator[None]:
    """Delete all objects of the kit at exit, whatever happens in the body.

    The provider is started again for that if it has ended. `context.leftovers` gets the objects
    that cannot be deleted.
    """
    try:
        yield
    finally:
        remaining = await _existing_objects(session, session.environment.namespaces, freeing=True)
        try:
            if remaining:
                context.report_progress(f"Objects remain ({len(remaining)}): they are deleted now")
                remaining = await _delete_with_provider(session, remaining)
        finally:  # also if the user interrupts the wait
            embedded = session.environment.embedded
            context.leftovers += [_remainder(item, embedded=embedded) for item in remaining]


async def _delete_with_provider(
    session: Session, remaining: list[RemainingObject]
) -> list[RemainingObject]:
    """Delete all objects while the provider runs; return those that remain."""
    with suppress(SubjectError):
        async with session.provider.launcher.running(session.environment, Limits()):
            return await delete_objects(session, session.environment.namespaces)
    return (
        await _existing_objects(session, session.environment.namespaces, freeing=True) or remaining
    )


async def delete_objects(session: Session, namespaces: Collection[str]) -> list[RemainingObject]:
    """Delete the objects in namespaces in core's order: machines before their cluster.

    Returns those that remain at the time limit.
    """
    session.cleaned_namespaces.update(namespaces)
    with suppress(KapyError):
        await _resume(session, namespaces)
    remaining: list[RemainingObject] = []
    for phase in _phases(session.provider):
        result = await _of(session, phase, namespaces)
        for item in result:
            with suppress(KapyError):
                await _delete(session, item)
        removal = await asyncio.gather(*(_is_gone(session, element) for element in result))
        remaining += [element for element, went in zip(result, removal, strict=True) if not went]
    return remaining


def _phases(provider: ProviderUnderTest) -> Sequence[Sequence[Resource]]:
    """Return kinds in the order of deletion: first those that make or use others."""

    def of(*roles: str) -> list[Resource]:
        return [kind.resource for role in roles for kind in provider.kinds_of_role(role)]

    return (
        of("control-plane", "infra-machinepool"),
        of("infra-machine", "bootstrap-config"),
        (Machine.RESOURCE, MachinePool.RESOURCE),
        (IPAddressClaim.RESOURCE,),
        of("infra-cluster"),
        (Cluster.RESOURCE, IPAddress.RESOURCE, *of("ipam")),
    )


async def _resume(session: Session, namespaces: Collection[str]) -> None:
    """Unpause Clusters so that the provider can finish."""
    for item in await _of(session, (Cluster.RESOURCE,), namespaces):
        paused = value_at(item.document, ("spec", "paused"))
        if paused or Annotation.PAUSED in (item.document["metadata"].get("annotations") or {}):
            patch = {**_FREED, "spec": {"paused": None}}
            await session.client.patch(item.resource, item.key, patch)


async def _delete(session: Session, value: RemainingObject) -> None:
    with suppress(NotFound):
        await session.client.delete(value.resource, value.key)
        annotations = value.document["metadata"].get("annotations") or {}
        if {Annotation.PAUSED, Annotation.MANAGED_BY} & annotations.keys():
            await session.client.patch(value.resource, value.key, _FREED)


async def _is_gone(session: Session, value: RemainingObject) -> bool:
    """Wait until the object is deleted; return whether it was in time."""
    with suppress(TimeoutError, KapyError):
        async with asyncio.timeout(session.timeouts.within):
            await session.watch_log.watch(value.resource)
            while await _is_there(session, value):
                if session.watch_log.latest(value.resource, value.key) is None:
                    # A timer: the cached state is older than the object.
                    await asyncio.sleep(_STEP)
                else:
                    within = session.timeouts.within
                    await session.watch_log.until(value.resource, value.key, _is_none, within)
            return True
    return False


def _is_none(document: Document | None) -> bool:
    return document is None


async def _is_there(session: Session, value: RemainingObject) -> bool:
    try:
        await session.client.get(value.resource, value.key)
    except NotFound:
        return False
    return True


async def _existing_objects(
    session: Session, namespaces: Collection[str], *, freeing: bool
) -> list[RemainingObject]:
    """Return the existing objects in the namespaces. freeing: on an embedded server, whether to
    return only objects that a finalizer keeps.
    """
    objects: list[RemainingObject] = []
    for phase in _phases(session.provider):
        objects += await _of(session, phase, namespaces)
    if freeing and session.environment.embedded:
        return [item for item in objects if item.document["metadata"].get("finalizers")]
    return objects


async def _of(
    session: Session, resources: Iterable[Resource], namespaces: Collection[str]
) -> list[RemainingObject]:
    """Return the objects of kinds in namespaces; a cluster-scoped object has the name of its
    namespace.
    """
    result: list[RemainingObject] = []
    for resource in resources:
        with suppress(KapyError):  # the kind may not be installed, or the server not available
            only = next(iter(namespaces)) if len(namespaces) == 1 else ""
            within = only if resource.namespaced else ""
            listed = await session.client.list(resource, within)
            result += [
                RemainingObject(resource, item)
                for item in listed.items
                if _is_ours(item, namespaces)
            ]
    return result


def _is_ours(document: Document, namespaces: Collection[str]) -> bool:
    metadata = document["metadata"]
    return metadata.get("namespace", metadata["name"]) in namespaces


def _remainder(value: RemainingObject, *, embedded: bool) -> Leftover:
    metadata, key = value.document["metadata"], value.key
    place = f"{value.resource.kind} {key}"
    facts = [f"finalizer {name}" for name in metadata.get("finalizers") or ()]
    if identity := value_at(value.document, ("spec", "providerID")):
        facts.insert(0, f"providerID {identity}")
    if host := value_at(value.document, ("spec", "controlPlaneEndpoint", "host")):
        facts.insert(0, f"endpoint {host}")
    called = f"{place} ({', '.join(facts)})" if facts else place
    if embedded:
        return Leftover(
            called,
            "the provider did not let it go, and the API server that knew it has ended: look for "
            "these names in what the provider has made, and remove that by hand",
        )
    where = f"-n {key.namespace} " if key.namespace else ""
    resource = value.resource.group_resource
    return Leftover(
        called,
        f"kubectl {where}delete {resource} {key.name}; where the provider never lets it go, free "
        f"what it has made by hand, then: kubectl {where}patch {resource} {key.name} --type merge "
        """-p '{"metadata":{"finalizers":null}}'""",
    )
