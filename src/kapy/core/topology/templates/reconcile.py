"""Reconcilers that hold deleted objects of a topology until their unused templates are deleted.

A MachineDeployment is removed before its MachineSets, which keep their templates until they follow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_set import MachineSet
from kapy.api.names import CLUSTER_GROUP, Finalizer
from kapy.contract.cluster_objects import cluster_of
from kapy.contract.external import owner_keys
from kapy.core.topology.errors import CannotReconcile, name_failed_step
from kapy.core.topology.owned import is_owned
from kapy.core.topology.templates.unused import (
    Dependencies,
    delete_unused_templates,
    is_paused,
    sets_of,
)
from kapy.engine.cache import Change, Informer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.meta import Object
from kapy.kube.names import GroupKind

O = TypeVar("O", bound=Object)  # noqa: E741

_owner_keys: Final = owner_keys(GroupKind(CLUSTER_GROUP, "MachineDeployment"))


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
        return is_paused(scope.draft.before, cluster)

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
        users = sets_of(dependencies.fleet, cluster, key.name)
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
        users: Iterable[Document] = sets_of(dependencies.fleet, cluster, owner.name)
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
