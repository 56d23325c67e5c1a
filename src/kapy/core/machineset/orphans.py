"""Orphans: objects that were cloned for a Machine which was never created."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from kapy.contract.templates import SUFFIX
from kapy.core.machineset.machines import references
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.cache import Informer
from kapy.engine.failure import NotYet
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import GroupKind, Resource

BY_OWNER: Final = "owner"

Clone: TypeAlias = tuple[Resource, Document]


async def find_orphans(scope: MachineSetScope) -> list[Clone]:
    """Return the clones that the set itself still owns, since no Machine has replaced it."""
    spec, found = scope.machine_set.spec.template.spec, list[Clone]()
    for ref in (spec.infrastructure_ref, spec.bootstrap.config_ref):
        if ref is None or not ref.kind.endswith(SUFFIX):
            continue
        kind = GroupKind(ref.api_group, ref.kind.removesuffix(SUFFIX))
        resource = (await scope.tools.external.resolve(kind)).resource
        informer = _watch(scope, resource)
        for document in informer.indexed(BY_OWNER, scope.machine_set.metadata.uid):
            if not document["metadata"].get("deletionTimestamp"):
                found.append((resource, document))
    if not found:
        return found
    in_use = {
        (ref.kind, ref.name) for machine in scope.machines or () for ref in references(machine)
    }
    return [one for one in found if (one[0].kind, one[1]["metadata"]["name"]) not in in_use]


async def delete_orphans(scope: MachineSetScope, leftovers: Sequence[Clone]) -> None:
    """Delete unneeded orphans; a failure of one does not stop the others."""
    failures: list[Exception] = []
    for resource, document in leftovers:
        uid = document["metadata"]["uid"]
        try:
            await scope.tools.client.delete(resource, Key.of(document), uid=uid)
        except NotFound:
            continue
        except KapyError as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup("failed to cleanup orphaned objects", failures)


def _watch(scope: MachineSetScope, resource: Resource) -> Informer[Document]:
    informer = scope.tools.cache.informer(resource)
    informer.add_index(BY_OWNER, _owning_sets)
    if not informer.is_synced:
        raise NotYet(f"the {resource.plural} are not read yet")
    return informer


def _owning_sets(document: Document) -> Iterable[str]:
    owners = document["metadata"].get("ownerReferences") or ()
    return [owner["uid"] for owner in owners if owner["kind"] == "MachineSet"]
