"""Read, adopt, apply and delete the MachineSets of a MachineDeployment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kapy.api.machine_set import MachineSet
from kapy.api.names import Finalizer, Label
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.machinedeployment.desired import MANAGER, intent_of
from kapy.core.machinedeployment.rollout import by_age, existing_replicas, replicas
from kapy.core.machinedeployment.scope import DeploymentCache, MachineDeploymentScope
from kapy.engine.result import DONE, Result
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document
from kapy.kube.errors import Conflict, KapyError, NotFound
from kapy.kube.meta import owner_reference, read
from kapy.kube.model import encode
from kapy.kube.selectors import selector_of


class EmptySelector(KapyError):
    """`spec.selector` selects everything; admission refuses that."""


async def read_machine_sets(scope: MachineDeploymentScope) -> Result:
    """Return the sets of this MachineDeployment; selected sets without a controller are adopted."""
    deployment = scope.deployment
    selector = selector_of(encode(deployment.spec.selector))
    if not str(selector):
        raise EmptySelector(
            "failed to get MachineSets: label selector computed from "
            "MachineDeployment.spec.selector is empty"
        )
    documents: list[Document] = []
    for machine_set in scope.dependencies.fleet.machine_sets_of(scope.cluster.key):
        document: Document | None = machine_set
        controller = _controller(machine_set)
        if controller is None:
            document = await _adopt(scope, machine_set) if selector.selects(machine_set) else None
        elif controller["uid"] != deployment.metadata.uid:
            document = None
        if document is not None:
            documents.append(await _with_labels(scope, document))
    scope.documents = {item["metadata"]["name"]: item for item in documents}
    scope.machine_sets = [read(item, MachineSet) for item in documents]
    return DONE


def _controller(document: Document) -> Document | None:
    for owner in document["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            result: Document = owner
            return result
    return None


async def _adopt(scope: MachineDeploymentScope, document: Document) -> Document | None:
    deployment, dependencies = scope.deployment, scope.dependencies
    name = document["metadata"]["name"]
    owner = owner_reference(deployment, controller=True, block_deletion=True)
    try:
        adopted = await claim(
            dependencies.client,
            MachineSet.RESOURCE,
            document,
            lambda value: ownership_patch(value, owner),
        )
    except KapyError as error:
        message = f'Failed to adopt MachineSet "{name}": {error}'
        dependencies.events.warning(deployment, "FailedAdopt", message)
        return None
    dependencies.events.normal(deployment, "SuccessfulAdopt", f'Adopted MachineSet "{name}"')
    return adopted


async def _with_labels(scope: MachineDeploymentScope, document: Document) -> Document:
    """Return the set with the label that names its MachineDeployment."""
    name = scope.deployment.metadata.name
    if (document["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME) == name:
        return document
    if scope.deployment.deleting:
        return document
    key = read(document, MachineSet).key
    patch = {"metadata": {"labels": {Label.DEPLOYMENT_NAME: name}}}
    return await scope.dependencies.client.patch(MachineSet.RESOURCE, key, patch)


async def apply_sets(
    scope: MachineDeploymentScope, new: MachineSet | None, old: Sequence[MachineSet]
) -> None:
    """Apply the desired sets, the new one first; unchanged ones are skipped."""
    before, cache = dict(scope.documents), scope.dependencies.cache_of(scope.deployment)
    cache.synced = {
        name: agreed for name, agreed in cache.synced.items() if name in scope.documents
    }
    for desired in (new, *old):
        if desired is not None:
            await _apply(scope, desired, cache)
    if any(document is not before.get(name) for name, document in scope.documents.items()):
        scope.machine_sets = [read(document, MachineSet) for document in scope.documents.values()]


def _is_settled(
    applied: SSACache, cache: DeploymentCache, before: Document, intent: Document
) -> bool:
    name = before["metadata"]["name"]
    state, agreed = cache.synced.get(name, (None, None))
    if state is before and agreed == intent:
        applied.hits[MachineSet.RESOURCE.kind] += 1
        return True
    if not applied.is_no_op(before, intent, MANAGER):
        return False
    cache.synced[name] = before, intent
    return True


async def _apply(
    scope: MachineDeploymentScope, desired: MachineSet, cache: DeploymentCache
) -> None:
    dependencies, name = scope.dependencies, desired.metadata.name
    before = scope.documents.get(name)
    intent = intent_of(desired)
    if before is not None and _is_settled(dependencies.applied, cache, before, intent):
        return
    try:
        after = await dependencies.client.apply(MachineSet.RESOURCE, intent, field_manager=MANAGER)
    except (Conflict, NotFound) as error:
        if desired.deleting:  # deleted in between
            return
        _record_failure(scope, desired, before, error)
        raise
    except KapyError as error:
        _record_failure(scope, desired, before, error)
        raise
    scope.documents[name] = after
    _announce(scope, desired, before)


def _announce(scope: MachineDeploymentScope, desired: MachineSet, before: Document | None) -> None:
    deployment, events, count = scope.deployment, scope.dependencies.events, replicas(desired)
    if before is None:
        message = f"Created MachineSet {desired.key} with {count} replicas"
        events.normal(deployment, "SuccessfulCreate", message)
        return
    was = before["spec"].get("replicas") or 0
    if was == count:
        return
    if deployment.spec.paused:  # the MachineDeployment was scaled: not a rollout step
        what = f"MachineSet {desired.key}"
    else:
        what = f"{'up' if count > was else 'down'} MachineSet {desired.metadata.name}"
    events.normal(deployment, "SuccessfulScale", f"Scaled {what}: {was} -> {count}")


def _record_failure(
    scope: MachineDeploymentScope,
    desired: MachineSet,
    before: Document | None,
    error: KapyError,
) -> None:
    verb = "create" if before is None else "update"
    was = None if before is None else before["spec"].get("replicas") or 0
    if scope.deployment.spec.paused and was not in (None, replicas(desired)):
        verb = "scale"
    message = f"Failed to {verb} MachineSet {desired.key}: {error}"
    scope.dependencies.events.warning(scope.deployment, f"Failed{verb.capitalize()}", message)


async def clean_up(scope: MachineDeploymentScope, old: Iterable[MachineSet]) -> None:
    """Delete the old sets of a completed rollout once they have no Machines."""
    deployment, dependencies = scope.deployment, scope.dependencies
    for machine_set in by_age(old):
        document = scope.documents[machine_set.metadata.name]
        current = read(document, MachineSet)
        is_observed = current.status.observed_generation >= current.metadata.generation
        if current.deleting or existing_replicas(current) or replicas(current) or not is_observed:
            continue
        try:
            await delete_set(scope, current)
        except KapyError as error:
            message = f'Failed to delete MachineSet "{machine_set.metadata.name}": {error}'
            dependencies.events.warning(deployment, "FailedDelete", message)
            raise
        message = f'Deleted MachineSet "{machine_set.metadata.name}"'
        dependencies.events.normal(deployment, "SuccessfulDelete", message)


async def delete_sets(scope: MachineDeploymentScope) -> Result:
    """Delete all sets; remove the MachineDeployment's finalizer when the last one is gone."""
    if scope.machine_sets is None:
        return DONE
    if not scope.machine_sets:
        finalizers = scope.deployment.metadata.finalizers
        finalizers[:] = [
            finalizer for finalizer in finalizers if finalizer != Finalizer.MACHINE_DEPLOYMENT
        ]
        return DONE
    for machine_set in scope.machine_sets:
        if not machine_set.deleting:
            await delete_set(scope, machine_set)
    return DONE


async def delete_set(scope: MachineDeploymentScope, machine_set: MachineSet) -> None:
    """Delete this set by its uid."""
    try:
        await scope.dependencies.client.delete(
            MachineSet, machine_set.key, uid=machine_set.metadata.uid
        )
    except NotFound:
        return
