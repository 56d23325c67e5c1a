"""Orphans: objects that were cloned for a Machine which was never created."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias

from kapy.api.names import CLUSTER_GROUP
from kapy.contract.external import owner_keys
from kapy.contract.templates import SUFFIX
from kapy.core.machineset.machines import references
from kapy.core.machineset.scope import Dependencies, MachineSetScope
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE
from kapy.engine.failure import NotYet
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import GroupKind, Resource

BY_OWNER: Final = "owner"
_OWNERS: Final = owner_keys(GroupKind(CLUSTER_GROUP, "MachineSet"))

Clone: TypeAlias = tuple[Resource, Document]


async def find_orphans(scope: MachineSetScope) -> list[Clone]:
    """Return the clones that the set itself still owns, since no Machine has replaced it."""
    spec, result = scope.machine_set.spec.template.spec, list[Clone]()
    for ref in (spec.infrastructure_ref, spec.bootstrap.config_ref):
        if ref is None or not ref.kind.endswith(SUFFIX):
            continue
        kind = GroupKind(ref.api_group, ref.kind.removesuffix(SUFFIX))
        resource = (await scope.dependencies.external.resolve(kind)).resource
        informer = _watch(scope, resource)
        for document in informer.list_by_index(BY_OWNER, scope.machine_set.metadata.uid):
            if not document["metadata"].get("deletionTimestamp"):
                result.append((resource, document))
    if not result:
        return result
    in_use = {
        (ref.kind, ref.name) for machine in scope.machines or () for ref in references(machine)
    }
    return [
        entry for entry in result if (entry[0].kind, entry[1]["metadata"]["name"]) not in in_use
    ]


async def delete_orphans(scope: MachineSetScope, leftovers: Sequence[Clone]) -> None:
    """Delete unneeded orphans; a failure of one does not stop the others."""
    failures: list[Exception] = []
    for resource, document in leftovers:
        uid = document["metadata"]["uid"]
        try:
            await scope.dependencies.client.delete(resource, Key.of(document), uid=uid)
        except NotFound:
            continue
        except KapyError as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup("failed to cleanup orphaned objects", failures)


def _watch(scope: MachineSetScope, resource: Resource) -> Informer[Document]:
    informer = scope.dependencies.cache.informer(resource)
    informer.add_index(BY_OWNER, _owning_sets)
    watched, controller = scope.dependencies.watched_clones, scope.dependencies.controller
    if controller is not None and resource not in watched:
        watched[resource] = informer
        mapper = partial(_sets_at_rest, scope.dependencies)
        controller.watch(informer, mapper, debounce=AGGREGATE_DEBOUNCE)
    if not informer.is_synced:
        raise NotYet(f"the {resource.plural} are not read yet")
    return informer


def _sets_at_rest(dependencies: Dependencies, change: Change) -> Iterable[Key]:
    """Map a new clone to its set if that has all of its Machines, as nothing else would wake it:
    the request was processed after its deadline, when a Machine of another name was there.

    A set that lacks Machines is about to create them, or backs off.
    """
    if change.old is not None or change.new is None:
        return ()
    return [
        key
        for key in _OWNERS(change)
        if _has_all_machines(dependencies.fleet.machine_sets.raw(key))
    ]


def _has_all_machines(machine_set: Document | None) -> bool:
    if machine_set is None:
        return False
    replicas = (machine_set.get("status") or {}).get("replicas") or 0
    return bool(replicas >= (machine_set["spec"].get("replicas") or 0))


def _owning_sets(document: Document) -> Iterable[str]:
    owners = document["metadata"].get("ownerReferences") or ()
    return [owner["uid"] for owner in owners if owner["kind"] == "MachineSet"]
