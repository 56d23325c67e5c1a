"""The reconciler of MachineSets."""

from __future__ import annotations

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Finalizer, Label
from kapy.conditions.paused import report_pause
from kapy.conditions.transitions import next_transition
from kapy.core.machineset.in_place import begin_updates
from kapy.core.machineset.machines import delete_machines, read_machines
from kapy.core.machineset.owner import (
    reconcile_bootstrap_template,
    reconcile_infrastructure_template,
    reconcile_owner,
)
from kapy.core.machineset.propagation import propagate
from kapy.core.machineset.remediation import remediate
from kapy.core.machineset.replicas import reconcile_replicas
from kapy.core.machineset.scope import Dependencies, MachineSetScope
from kapy.core.machineset.status import update_status
from kapy.core.machineset.status_v1beta1 import update_status_v1beta1
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result
from kapy.engine.status_memo import StatusInputs
from kapy.kube import Key
from kapy.kube.meta import read


class MachineSetReconciler(Reconciler[MachineSet, MachineSetScope]):
    """Reconciles MachineSets; the creation of a missing Cluster enqueues them."""

    normal = (
        reconcile_owner,
        reconcile_infrastructure_template,
        reconcile_bootstrap_template,
        read_machines,
        remediate,
        propagate,
        begin_updates,
        reconcile_replicas,
    )
    deletion = (
        reconcile_owner,
        reconcile_infrastructure_template,
        reconcile_bootstrap_template,
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
