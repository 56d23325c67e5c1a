"""Deletes the templates of workers once no MachineDeployment or MachineSet uses them: reconcilers,
controllers and mappers.

A finalizer on MachineDeployments and MachineSets of a topology holds them until that is done.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from kapy._aio.clock import Clock
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_set import MachineSet
from kapy.api.names import CLUSTER_GROUP, Annotation, Finalizer, Label
from kapy.client.client import Client
from kapy.contract.cluster_objects import ClusterObjects, cluster_of, on_create_or_delete
from kapy.contract.external import External, owner_keys
from kapy.core.topology.current_state import is_owned
from kapy.core.topology.errors import CannotReconcile, name_failed_step
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.meta import Object
from kapy.kube.model import decode
from kapy.kube.names import GroupKind

O = TypeVar("O", bound=Object)  # noqa: E741

_owner_keys: Final = owner_keys(GroupKind(CLUSTER_GROUP, "MachineDeployment"))
_CONCURRENCY: Final = 25


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of both controllers."""

    client: Client
    external: External
    fleet: ClusterObjects
    clock: Clock


def _sets_of(objects: ClusterObjects, cluster: Key, deployment: str) -> list[Document]:
    """Return the MachineSets of a MachineDeployment, by label."""
    return [
        machine_set
        for machine_set in objects.machine_sets_of(cluster)
        if (machine_set["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME) == deployment
    ]


async def delete_unused_templates(
    dependencies: Dependencies, of: Document, users: Iterable[Document]
) -> None:
    """Delete the templates that an object refers to, except for those of remaining users.

    Raises CannotReconcile.
    """
    used = {
        (template.api_group, template.kind, template.name)
        for user in users
        if not _is_deleting(user)
        for template in _templates(user)
    }
    namespace = of["metadata"]["namespace"]
    for ref in _templates(of):
        if (ref.api_group, ref.kind, ref.name) in used:
            continue
        key = Key(namespace, ref.name)
        with name_failed_step(f"failed to delete {ref.kind} {key} for {of['kind']} {Key.of(of)}"):
            where = await dependencies.external.resolve(GroupKind(ref.api_group, ref.kind))
            try:
                await dependencies.client.delete(where.resource, key)
            except NotFound:
                continue


def _is_deleting(document: Document) -> bool:
    """Return whether the object is in deletion."""
    return bool(document["metadata"].get("deletionTimestamp"))


def _is_paused(document: Document, cluster: Document | None) -> bool:
    """Return whether the object or its Cluster is paused."""
    paused = cluster is not None and bool(cluster["spec"].get("paused"))
    return paused or Annotation.PAUSED in (document["metadata"].get("annotations") or {})


def _templates(document: Document) -> Iterator[ContractVersionedObjectReference]:
    spec = document["spec"]["template"]["spec"]
    for ref in ((spec.get("bootstrap") or {}).get("configRef"), spec.get("infrastructureRef")):
        if ref:
            yield decode(ref, ContractVersionedObjectReference)


@dataclass(slots=True)
class TemplateScope(Generic[O]):
    """One object whose templates a topology created. cluster: the key of its Cluster."""

    draft: Draft[O]
    cluster: Key
    now: datetime


class TemplateReconciler(Reconciler[O, TemplateScope[O]]):
    """Deletes the unused templates of a deleted object, and then its finalizer.

    The status of the object, its Paused condition included, belongs to the controller of its kind.
    """

    def __init__(
        self, dependencies: Dependencies, kind: type[O], objects: Informer[Any], finalizer: str
    ) -> None:
        super().__init__(kind, objects, dependencies.client, finalizer)
        self.dependencies = dependencies
        self.deletion = (self._finalize,)

    @abstractmethod
    async def delete_templates(self, document: Document, cluster: Key) -> None:
        """Delete the templates that only this object uses. Raises CannotReconcile."""

    async def begin(self, draft: Draft[O]) -> TemplateScope[O] | Result:
        cluster = cluster_of(draft.before)
        if cluster is None or not is_owned(draft.before):
            return DONE
        return TemplateScope(draft, cluster, self.dependencies.clock())

    def pause(self, scope: TemplateScope[O]) -> bool:
        cluster = self.dependencies.fleet.clusters.raw(scope.cluster)
        return _is_paused(scope.draft.before, cluster)

    def set_status(self, _scope: TemplateScope[O]) -> Result:
        return DONE

    def set_observed_generation(self, scope: TemplateScope[O]) -> None:
        """Leave it to the controller of the kind."""

    async def _finalize(self, scope: TemplateScope[O]) -> Result:
        finalizers = scope.draft.object.metadata.finalizers
        if self.finalizer in finalizers:
            await self.delete_templates(scope.draft.before, scope.cluster)
            finalizers.remove(self.finalizer)
        return DONE


class DeploymentTemplateReconciler(TemplateReconciler[MachineDeployment]):
    """Deletes the templates and the health check of a deleted MachineDeployment."""

    def __init__(self, dependencies: Dependencies) -> None:
        objects = dependencies.fleet.deployments
        finalizer = Finalizer.MACHINE_DEPLOYMENT_TOPOLOGY
        super().__init__(dependencies, MachineDeployment, objects, finalizer)

    async def delete_templates(self, document: Document, cluster: Key) -> None:
        dependencies, key = self.dependencies, Key.of(document)
        users = _sets_of(dependencies.fleet, cluster, key.name)
        await delete_unused_templates(dependencies, document, users)
        with name_failed_step(f"failed to delete MachineHealthCheck {key}"), suppress(NotFound):
            await dependencies.client.delete(MachineHealthCheck, key)  # it has the same name


class SetTemplateReconciler(TemplateReconciler[MachineSet]):
    """Deletes the templates of a deleted MachineSet, unless its MachineDeployment or another set
    uses them.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        objects = dependencies.fleet.machine_sets
        super().__init__(dependencies, MachineSet, objects, Finalizer.MACHINE_SET_TOPOLOGY)

    async def delete_templates(self, document: Document, cluster: Key) -> None:
        dependencies, owner = self.dependencies, _deployment_of(document)
        users: Iterable[Document] = _sets_of(dependencies.fleet, cluster, owner.name)
        deployment = dependencies.fleet.deployments.raw(owner)
        await delete_unused_templates(
            dependencies, document, users if deployment is None else [*users, deployment]
        )


def _deployment_of(machine_set: Document) -> Key:
    """Return the owner, which may be gone already. Raises CannotReconcile."""
    for key in _owner_keys(Change(None, machine_set)):
        return key
    raise CannotReconcile(
        f"could not calculate MachineDeployment name for MachineSet {Key.of(machine_set)}: it has "
        "no owner of that kind"
    )


def add_to(runtime: Runtime, objects: ClusterObjects, external: External) -> None:
    """Add the controllers of the templates of MachineDeployments and MachineSets to a runtime."""
    dependencies = Dependencies(runtime.client, external, objects, runtime.clock)
    clusters = runtime.cache.informer(objects.clusters.resource)

    def add(
        name: str,
        reconciler: TemplateReconciler[Any],
        informer: Informer[Any],
        parts: Callable[[Key], Sequence[Document]],
    ) -> None:
        controller = Controller(name, reconciler.reconcile, concurrency=_CONCURRENCY)
        controller.watch(informer, _map_to_owner)
        controller.watch(clusters, _of_unpaused(parts))
        runtime.add(controller, informer)

    deployments, sets = DeploymentTemplateReconciler, SetTemplateReconciler
    add(
        "topology/machinedeployment",
        deployments(dependencies),
        objects.deployments,
        objects.deployments_of,
    )
    add("topology/machineset", sets(dependencies), objects.machine_sets, objects.machine_sets_of)


def _map_to_owner(change: Change) -> Iterable[Key]:
    """Map creation, deletion and unpausing of a topology's object to its key."""
    if not is_owned(change.document):
        return ()
    old, new = change.old, change.new
    annotations = [(item or {}).get("metadata", {}).get("annotations") for item in (old, new)]
    if annotations[0] != annotations[1]:
        return (Key.of(change.document),)
    return on_create_or_delete(change)


def _of_unpaused(parts: Callable[[Key], Sequence[Document]]) -> Mapper:
    """Return a mapper from an unpaused Cluster to its parts in deletion."""

    def keys(change: Change) -> Iterable[Key]:
        was = change.old is not None and change.old["spec"].get("paused")
        if not was or change.new is None or change.new["spec"].get("paused"):
            return ()
        return [Key.of(part) for part in parts(Key.of(change.new))]

    return keys
