"""The reconciler of Machines, and two short phases: the owner of a Machine, and the expiry of the
certificates of a control plane Machine.
"""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.machines import is_control_plane
from kapy.api.names import CLUSTER_GROUP, Annotation, Finalizer, Label
from kapy.api.times import moment, stamp
from kapy.conditions.paused import report_pause
from kapy.contract.observed import Found
from kapy.contract.ownership import ensure_owner
from kapy.core.machine.deletion import reconcile_delete
from kapy.core.machine.in_place import reconcile_in_place
from kapy.core.machine.node import reconcile_node
from kapy.core.machine.providers import reconcile_bootstrap, reconcile_infrastructure
from kapy.core.machine.scope import Dependencies, MachineScope
from kapy.core.machine.status import update_status
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.kube.meta import controller_of, owner_reference

_MADE_BY_OTHERS = (Label.SET_NAME, Label.POOL_NAME, Label.CONTROL_PLANE_NAME)


class BadExpiry(KapyError):
    """The expiry annotation is no valid time."""


async def _reconcile_owner(scope: MachineScope) -> Result:
    """Make the Cluster own a standalone Machine, and set the Cluster's label on every Machine."""
    machine = scope.machine
    if _stands_alone(machine):
        ensure_owner(machine.metadata.owner_references, owner_reference(scope.cluster))
    machine.metadata.labels[Label.CLUSTER_NAME] = machine.spec.cluster_name
    return DONE


def _stands_alone(machine: Machine) -> bool:
    """Return whether the Machine was created by a user.

    After a restore from a backup the owner reference may come late: the labels show that there is
    an owner.
    """
    if controller_of(machine) is not None:
        return False
    return not any(label in machine.metadata.labels for label in _MADE_BY_OTHERS)


async def _reconcile_certificates(scope: MachineScope) -> Result:
    """Copy the expiry from the annotation of the Machine or else of its bootstrap config."""
    machine = scope.machine
    if not is_control_plane(machine):
        return DONE
    text = machine.metadata.annotations.get(Annotation.CERTIFICATES_EXPIRY)
    if text is None and isinstance(scope.bootstrap, Found):
        metadata = scope.bootstrap.view.document["metadata"]
        text = (metadata.get("annotations") or {}).get(Annotation.CERTIFICATES_EXPIRY)
    if text is None:
        machine.status.certificates_expiry_date = None
        return DONE
    try:
        machine.status.certificates_expiry_date = stamp(moment(text))
    except ValueError:
        raise BadExpiry(
            f'failed to reconcile certificates expiry: the annotation holds "{text}", '
            "which is no RFC 3339 time"
        ) from None
    return DONE


class MachineReconciler(Reconciler[Machine, MachineScope]):
    """Reconciles Machines; the creation of a missing Cluster enqueues them."""

    normal = (
        _reconcile_owner,
        reconcile_bootstrap,
        reconcile_infrastructure,
        reconcile_node,
        _reconcile_certificates,
        reconcile_in_place,
    )
    deletion = (
        _reconcile_owner,
        reconcile_bootstrap,
        reconcile_infrastructure,
        reconcile_node,
        _reconcile_certificates,
        reconcile_delete,
    )

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(
            Machine, dependencies.fleet.machines, dependencies.client, Finalizer.MACHINE
        )
        self.dependencies = dependencies

    async def begin(self, draft: Draft[Machine]) -> MachineScope | Result:
        dependencies, machine = self.dependencies, draft.object
        cluster = dependencies.fleet.cluster_of(machine)
        if cluster is None:
            return DONE
        machine_set = _machine_set(dependencies, machine)
        return MachineScope(
            dependencies=dependencies,
            draft=draft,
            cluster=cluster,
            now=dependencies.clock(),
            health=dependencies.remote.health(cluster.key),
            machine_set=machine_set,
            deployment=_deployment(dependencies, machine_set),
        )

    def pause(self, scope: MachineScope) -> bool:
        return report_pause(scope.machine, scope.cluster, scope.now)

    def delays_status(self, _scope: MachineScope) -> bool:
        return True

    def status_inputs(self, scope: MachineScope) -> StatusInputs | None:
        return scope.status_inputs

    def set_status(self, scope: MachineScope) -> Result:
        return update_status(scope)

    async def write(self, scope: MachineScope, *, failed: bool) -> Result:
        if not failed:
            self.dependencies.temporary_watches.release_unused(scope.machine.key, scope.watched)
        return await super().write(scope, failed=failed)

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.temporary_watches.release_unused(key)
        self.dependencies.update_progress.forget(key)
        self.dependencies.node_deletions.forget(key)


def _machine_set(dependencies: Dependencies, machine: Machine) -> MachineSet | None:
    for owner in machine.metadata.owner_references:
        if owner.kind == "MachineSet" and owner.api_version.startswith(f"{CLUSTER_GROUP}/"):
            result = dependencies.fleet.machine_sets.raw(
                Key(machine.metadata.namespace, owner.name)
            )
            return None if result is None else dependencies.fleet.machine_set_of(result)
    return None


def _deployment(
    dependencies: Dependencies, machine_set: MachineSet | None
) -> MachineDeployment | None:
    if machine_set is None:
        return None
    name = machine_set.metadata.labels.get(Label.DEPLOYMENT_NAME)
    if not name:
        return None
    result = dependencies.fleet.deployments.raw(Key(machine_set.metadata.namespace, name))
    return None if result is None else dependencies.fleet.deployment_of(result)
