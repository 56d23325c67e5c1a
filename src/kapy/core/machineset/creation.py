"""Create the Machines of a MachineSet with deterministic names: first the clones of the templates,
then the Machine.

Clones without a Machine are left over from an interrupted attempt: the names of these orphans are
used first, so that a lost response never causes a second Machine. Clones of an attempt that the
server refused permanently are deleted at once, so that the next attempt does not find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine
from kapy.api.names import CLUSTER_GROUP
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import v1beta1
from kapy.contract.errors import ContractError
from kapy.contract.external import owner_keys
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.contract.ownership import is_owned_by
from kapy.contract.templates import SUFFIX, Template, clone_template
from kapy.core.machineset.desired import (
    MANAGER,
    machine_annotations,
    machine_labels,
    machine_name,
    new_machine,
)
from kapy.core.machineset.machines import references
from kapy.core.machineset.preflight import run_checks
from kapy.core.machineset.scope import Dependencies, MachineSetScope
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE
from kapy.engine.result import DONE, NotYet, Result
from kapy.kube import Document, Key
from kapy.kube.errors import REFUSED, Conflict, KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import GroupKind, Resource

Templates: TypeAlias = list[tuple[str, Template]]
"""Templates to clone, each with the v1beta1 reason of a failure; bootstrap first."""

_BY_OWNER: Final = "owner"
_OWNERS: Final = owner_keys(GroupKind(CLUSTER_GROUP, "MachineSet"))
Clone: TypeAlias = tuple[Resource, Document]


async def create(scope: MachineSetScope, count: int, left_behind: Sequence[Clone]) -> Result:
    """Create `count` Machines, or report what prevents it."""
    checks = await run_checks(scope, "Scale up")
    if checks.failures:
        scope.blocked = checks.failures
        _creation_failed(scope, V1Beta1Reason.PREFLIGHT_CHECK_FAILED, "; ".join(checks.failures))
        if checks.failure is not None:
            raise checks.failure
        return DONE  # a change of the control plane enqueues the set
    templates = await _templates(scope)
    for name in _names(scope, count, left_behind):
        await _create_one(scope, name, templates)
    return DONE


def _creation_failed(scope: MachineSetScope, reason: str, message: str) -> None:
    scope.not_created = v1beta1.false(V1Beta1Type.MACHINES_CREATED, reason, v1beta1.ERROR, message)


def _names(scope: MachineSetScope, count: int, left_behind: Sequence[Clone]) -> list[str]:
    """Return the names of orphans first, then new ones: see `_slot`."""
    machine_set, documents = scope.machine_set, set(scope.documents)
    begun = {item["metadata"]["name"] for _, item in left_behind} - documents
    names = sorted(begun)[:count]
    attempt, slot = 0, _slot(scope)
    while len(names) < count:
        try:
            name = machine_name(machine_set, slot, attempt)
        except KapyError as error:
            scope.blocked = [str(error)]
            _creation_failed(scope, V1Beta1Reason.MACHINE_CREATION_FAILED, str(error))
            raise
        attempt += 1
        if name not in documents and name not in begun:
            documents.add(name)
            names.append(name)
    return names


def _slot(scope: MachineSetScope) -> str:
    """Return the text that makes new names differ from earlier ones.

    It is the generation until the status tells of it: two leaders that see the same desired number
    of replicas choose the same names, whatever each has written. Later, when a Machine that is gone
    is replaced, it is the resourceVersion, so that no name is used again.
    """
    document = scope.draft.before
    metadata = document["metadata"]
    observed = (document.get("status") or {}).get("observedGeneration") or 0
    if observed < metadata["generation"]:
        return f"generation {metadata['generation']}"
    return str(metadata["resourceVersion"])


async def _templates(scope: MachineSetScope) -> Templates:
    spec, templates = scope.machine_set.spec.template.spec, Templates()
    for ref, reason in (
        (spec.bootstrap.config_ref, V1Beta1Reason.BOOTSTRAP_TEMPLATE_CLONING_FAILED),
        (spec.infrastructure_ref, V1Beta1Reason.INFRASTRUCTURE_TEMPLATE_CLONING_FAILED),
    ):
        if ref is not None:
            try:
                templates.append((reason, await template_of(scope, ref)))
            except KapyError as error:
                _creation_failed(scope, reason, str(error))
                if isinstance(error, ContractError):
                    scope.blocked = [str(error)]
                raise
    return templates


async def template_of(scope: MachineSetScope, ref: ContractVersionedObjectReference) -> Template:
    """Return a template of the set. Raises NotYet if it does not exist, and its read error."""
    result = await scope.dependencies.external.get(ref, scope.namespace, Template)
    match result:
        case Found(template):
            return template
        case Unreadable(error):
            raise error
        case Absent():
            raise NotYet(f"{ref.kind} {scope.namespace}/{ref.name} does not exist")


@dataclass(slots=True)
class _Attempt:
    """The creation of one Machine. clones: those created so far; kind, reason: the current object,
    and the v1beta1 reason if it fails.
    """

    name: str
    kind: str = ""
    reason: str = ""
    clones: list[Resource] = field(default_factory=list)


async def _create_one(scope: MachineSetScope, name: str, templates: Templates) -> None:
    machine_set, attempt = scope.machine_set, _Attempt(name)
    try:
        await _make(scope, attempt, templates)
    except KapyError as error:
        # Without the name, which changes with each attempt: the condition stays the same.
        message = str(error).replace(name, f"{machine_set.metadata.name}-…")
        scope.blocked = [f"{attempt.kind} cannot be created: {message}"]
        _creation_failed(scope, attempt.reason, message)
        if isinstance(error, REFUSED):
            await _clean_up(scope, attempt)
        raise
    scope.dependencies.events.normal(machine_set, "SuccessfulCreate", f'Created Machine "{name}"')


async def _make(scope: MachineSetScope, attempt: _Attempt, templates: Templates) -> None:
    dependencies, name = scope.dependencies, attempt.name
    for reason, template in templates:
        attempt.reason, attempt.kind = reason, template.kind.removesuffix(SUFFIX)
        clone = _clone(scope, name, template)
        resource = await dependencies.external.resource_of(clone)
        attempt.clones.append(resource)
        await dependencies.client.apply(resource, clone, field_manager=MANAGER)
    *bootstrap, infrastructure = [
        {"apiGroup": item.group, "kind": item.kind, "name": name} for item in attempt.clones
    ]
    attempt.reason = V1Beta1Reason.MACHINE_CREATION_FAILED
    attempt.kind = Machine.RESOURCE.kind
    machine = new_machine(
        scope.machine_set,
        name,
        bootstrap=bootstrap[0] if bootstrap else None,
        infrastructure=infrastructure,
    )
    await dependencies.client.apply(Machine.RESOURCE, machine, field_manager=MANAGER)


def _clone(scope: MachineSetScope, name: str, template: Template) -> Document:
    machine_set = scope.machine_set
    return clone_template(
        template.document,
        name=name,
        namespace=scope.namespace,
        cluster_name=machine_set.spec.cluster_name,
        owner=owner_reference(machine_set),
        labels=machine_labels(machine_set),
        annotations=machine_annotations(machine_set),
    )


async def _clean_up(scope: MachineSetScope, attempt: _Attempt) -> None:
    """Delete the clones of a Machine that cannot be created; only objects of this attempt."""
    dependencies, key = scope.dependencies, Key(scope.namespace, attempt.name)
    for resource in attempt.clones:
        clone = dependencies.cache.informer(resource).raw(key)
        if clone is None or not is_owned_by(clone, scope.draft.before):
            continue
        try:
            await _delete_unchanged(scope, resource, clone)
        except (NotFound, Conflict):
            continue


async def find_orphans(scope: MachineSetScope) -> list[Clone]:
    """Return the clones that the set itself still owns, since no Machine has replaced it."""
    spec, result = scope.machine_set.spec.template.spec, list[Clone]()
    for ref in (spec.infrastructure_ref, spec.bootstrap.config_ref):
        if ref is None or not ref.kind.endswith(SUFFIX):
            continue
        kind = GroupKind(ref.api_group, ref.kind.removesuffix(SUFFIX))
        resource = (await scope.dependencies.external.resolve(kind)).resource
        informer = _watch(scope, resource)
        for document in informer.list_by_index(_BY_OWNER, scope.machine_set.metadata.uid):
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
        try:
            await _delete_unchanged(scope, resource, document)
        except NotFound:
            continue
        except KapyError as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup("failed to cleanup orphaned objects", failures)


async def _delete_unchanged(scope: MachineSetScope, resource: Resource, clone: Document) -> None:
    """Delete a clone. Raises Conflict if it has changed since: a Machine that the cache does not
    have yet may own it now.
    """
    metadata = clone["metadata"]
    await scope.dependencies.client.delete(
        resource,
        Key.of(clone),
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )


def _watch(scope: MachineSetScope, resource: Resource) -> Informer[Document]:
    informer = scope.dependencies.cache.informer(resource)
    informer.add_index(_BY_OWNER, _owning_sets)
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
