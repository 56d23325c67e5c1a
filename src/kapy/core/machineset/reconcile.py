"""The reconciler of MachineSets, the phases that set the ownership of a MachineSet and of its
templates, and the one that creates or deletes Machines to reach `spec.replicas`.

Machines that were moved from another set count only after the MachineDeployment has counted them.
"""

from __future__ import annotations

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import CLUSTER_GROUP, Annotation, Finalizer, Label
from kapy.conditions.paused import report_pause
from kapy.conditions.transitions import next_transition
from kapy.contract.observed import Absent, Unreadable
from kapy.contract.ownership import ensure_owner
from kapy.contract.templates import SUFFIX, owned_template
from kapy.core.machineset.creation import create, delete_orphans, find_orphans
from kapy.core.machineset.in_place import begin_updates, move_machines, uncounted_machines
from kapy.core.machineset.machines import (
    delete_machine,
    delete_machines,
    deletion_order,
    read_machines,
)
from kapy.core.machineset.propagation import propagate
from kapy.core.machineset.remediation import remediate
from kapy.core.machineset.scope import Dependencies, MachineSetScope
from kapy.core.machineset.status import update_status, update_status_v1beta1
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, NotYet, Result
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference, read


class NoReplicas(KapyError):
    """`spec.replicas` is not set; admission always sets it."""


async def _reconcile_owner(scope: MachineSetScope) -> Result:
    """Make the Cluster own a standalone MachineSet; complete its labels, selector and template."""
    machine_set = scope.machine_set
    metadata, spec = machine_set.metadata, machine_set.spec
    metadata.labels[Label.CLUSTER_NAME] = spec.cluster_name
    spec.selector.match_labels[Label.CLUSTER_NAME] = spec.cluster_name
    spec.template.metadata.labels[Label.CLUSTER_NAME] = spec.cluster_name
    of_deployment = any(
        owner.kind == "MachineDeployment" and owner.api_version.startswith(f"{CLUSTER_GROUP}/")
        for owner in metadata.owner_references
    )
    if not of_deployment and Label.DEPLOYMENT_NAME not in metadata.labels:
        ensure_owner(metadata.owner_references, owner_reference(scope.cluster))
    return DONE


async def _reconcile_infrastructure_template(scope: MachineSetScope) -> Result:
    """Make the Cluster own the template of infrastructure machines."""
    ref = scope.machine_set.spec.template.spec.infrastructure_ref
    scope.infrastructure_missing = await _is_missing(scope, ref)
    _raise_if_needed(scope, ref, missing=scope.infrastructure_missing)
    return DONE


async def _reconcile_bootstrap_template(scope: MachineSetScope) -> Result:
    """Make the Cluster own the template of bootstrap configs, if there is one."""
    ref = scope.machine_set.spec.template.spec.bootstrap.config_ref
    if ref is not None:
        scope.bootstrap_missing = await _is_missing(scope, ref)
        _raise_if_needed(scope, ref, missing=scope.bootstrap_missing)
    return DONE


async def _is_missing(scope: MachineSetScope, ref: ContractVersionedObjectReference) -> bool:
    if not ref.kind.endswith(SUFFIX):
        return False
    dependencies = scope.dependencies
    template = await owned_template(dependencies.external, ref, scope.cluster)
    if isinstance(template, Unreadable):
        raise template.error
    return isinstance(template, Absent)


def _raise_if_needed(
    scope: MachineSetScope, ref: ContractVersionedObjectReference, *, missing: bool
) -> None:
    """Raise for a missing template, unless the set (of an old revision, or in deletion)
    needs none.
    """
    if missing and not scope.machine_set.deleting and scope.is_current:
        raise NotYet(f"{ref.kind} {scope.namespace}/{ref.name} does not exist")


async def _reconcile_replicas(scope: MachineSetScope) -> Result:
    """Create missing Machines, or delete (or move) surplus ones."""
    machine_set, machines = scope.machine_set, scope.machines
    if machines is None:
        return DONE
    if machine_set.spec.replicas is None:
        raise NoReplicas(f"spec.replicas of MachineSet {machine_set.key} is not set")
    leftovers = await find_orphans(scope)
    missing = machine_set.spec.replicas - len(machines)
    if missing > 0 and not _creation_disabled(scope):
        return await create(scope, missing, leftovers)
    excess = -missing - len(uncounted_machines(scope))
    if excess > 0:
        annotations = machine_set.metadata.annotations
        if target := annotations.get(Annotation.MOVE_MACHINES_TO_MACHINE_SET):
            await move_machines(scope, target, excess)
        else:
            await _shrink(scope, excess)
    await delete_orphans(scope, leftovers)
    return DONE


def _creation_disabled(scope: MachineSetScope) -> bool:
    annotations = scope.machine_set.metadata.annotations
    return annotations.get(Annotation.DISABLE_MACHINE_CREATE) == "true"


async def _shrink(scope: MachineSetScope, count: int) -> None:
    """Delete Machines by priority; a failure of one does not stop the others."""
    machine_set, dependencies = scope.machine_set, scope.dependencies
    order, failures = machine_set.spec.deletion.order, list[Exception]()
    if sum(machine.deleting for machine in scope.aggregation_input.noteworthy) >= count:
        return  # these come first
    machines = scope.machines or []
    for machine in deletion_order(machines, order, scope.now, healthy=scope.groups)[:count]:
        if machine.deleting:
            continue
        try:
            await delete_machine(scope, machine)
        except KapyError as error:
            failures.append(error)
            continue
        message = f'Deleted Machine "{machine.metadata.name}"'
        dependencies.events.normal(machine_set, "SuccessfulDelete", message)
    if failures:
        raise ExceptionGroup("failed to delete Machines", failures)


class MachineSetReconciler(Reconciler[MachineSet, MachineSetScope]):
    """Reconciles MachineSets; the creation of a missing Cluster enqueues them."""

    normal = (
        _reconcile_owner,
        _reconcile_infrastructure_template,
        _reconcile_bootstrap_template,
        read_machines,
        remediate,
        propagate,
        begin_updates,
        _reconcile_replicas,
    )
    deletion = (
        _reconcile_owner,
        _reconcile_infrastructure_template,
        _reconcile_bootstrap_template,
        read_machines,
        delete_machines,
    )

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(
            MachineSet, dependencies.fleet.machine_sets, dependencies.client, Finalizer.MACHINE_SET
        )
        self.dependencies = dependencies

    async def begin(self, draft: Draft[MachineSet]) -> MachineSetScope | Result:
        dependencies, machine_set = self.dependencies, draft.object
        cluster = dependencies.fleet.cluster_of(machine_set)
        if cluster is None:
            return DONE
        deployment = _deployment(dependencies, machine_set)
        return MachineSetScope(dependencies, draft, cluster, dependencies.clock(), deployment)

    def pause(self, scope: MachineSetScope) -> bool:
        return report_pause(scope.machine_set, scope.cluster, scope.now)

    def delays_status(self, _scope: MachineSetScope) -> bool:
        return True

    def status_inputs(self, scope: MachineSetScope) -> StatusInputs | None:
        return scope.status_inputs

    def set_status(self, scope: MachineSetScope) -> Result:
        update_status(scope)
        update_status_v1beta1(scope)
        return DONE

    def requeue(self, scope: MachineSetScope) -> Result:
        return next_transition(scope.aggregation_input.noteworthy, scope.now)

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.caches.pop(key, None)

    def drop_memos(self, key: Key) -> None:
        super().drop_memos(key)
        self.dependencies.caches.pop(key, None)


def _deployment(dependencies: Dependencies, machine_set: MachineSet) -> MachineDeployment | None:
    name = machine_set.metadata.labels.get(Label.DEPLOYMENT_NAME)
    if not name:
        return None
    result = dependencies.fleet.deployments.raw(Key(machine_set.metadata.namespace, name))
    return None if result is None else read(result, MachineDeployment)
