"""One reconcile of a MachineSet: the order of the phases, and the writes."""

from __future__ import annotations

from typing import Final

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Finalizer, Label
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
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
from kapy.core.machineset.scope import MachineSetScope, Tools
from kapy.core.machineset.status import next_requeue, update_status
from kapy.core.machineset.status_v1beta1 import update_status_v1beta1
from kapy.engine.draft import Draft
from kapy.engine.phases import Phase, run_and_write
from kapy.engine.result import DONE, Result
from kapy.kube import Key
from kapy.kube.meta import read

ALWAYS: Final[tuple[Phase[MachineSetScope], ...]] = (
    reconcile_owner,
    reconcile_infrastructure_template,
    reconcile_bootstrap_template,
    read_machines,
)
NORMAL: Final = (*ALWAYS, remediate, propagate, begin_updates, reconcile_replicas)
DELETION: Final = (*ALWAYS, delete_machines)


async def reconcile(tools: Tools, key: Key) -> Result:
    """Reconcile a MachineSet; the creation of a missing Cluster enqueues it."""
    document = tools.fleet.machine_sets.raw(key)
    if document is None:
        tools.forget(key)
        return DONE
    draft = Draft(tools.client, MachineSet, document)
    machine_set = draft.object
    clusters = tools.fleet.clusters
    result = clusters.raw(Key(key.namespace, machine_set.spec.cluster_name))
    if result is None:
        return DONE
    cluster = clusters.decode_shared(result)
    fresh = (
        not machine_set.deleting and Finalizer.MACHINE_SET not in machine_set.metadata.finalizers
    )
    if fresh:
        machine_set.metadata.finalizers.append(Finalizer.MACHINE_SET)
    if is_paused(machine_set, cluster):
        set_condition(machine_set, paused_condition(machine_set, cluster), tools.clock())
        await draft.save()
        return DONE
    if fresh:
        # Before anything is done, or a deletion meanwhile would leave it undone.
        await draft.save_spec()
    scope = MachineSetScope(
        tools=tools,
        draft=draft,
        cluster=cluster,
        now=tools.clock(),
        deployment=_deployment(tools, machine_set),
    )
    return await _work(scope)


async def _work(scope: MachineSetScope) -> Result:
    phases = DELETION if scope.machine_set.deleting else NORMAL
    return await run_and_write(phases, scope, _write)


async def _write(scope: MachineSetScope, *, failed: bool) -> Result:
    """Write metadata and spec first, so that the status refers to the new generation."""
    await scope.draft.save_spec()
    machine_set = scope.machine_set
    if machine_set.deleting and not machine_set.metadata.finalizers:
        return DONE
    computed, inputs = scope.tools.status_memo, None if failed else scope.status_inputs
    if computed.is_current(machine_set.key, inputs) and scope.draft.is_clean:
        return next_requeue(scope)
    update_status(scope)
    update_status_v1beta1(scope)
    if not failed:
        machine_set.status.observed_generation = machine_set.metadata.generation
        if (wait := scope.tools.status_delay.wait(scope.draft, scope.now)) is not DONE:
            return wait.earlier_of(next_requeue(scope))
    if not await scope.draft.save() and inputs is not None:
        computed.keep(machine_set.key, inputs)
    return next_requeue(scope)


def _deployment(tools: Tools, machine_set: MachineSet) -> MachineDeployment | None:
    name = machine_set.metadata.labels.get(Label.DEPLOYMENT_NAME)
    if not name:
        return None
    result = tools.fleet.deployments.raw(Key(machine_set.metadata.namespace, name))
    return None if result is None else read(result, MachineDeployment)
