"""One reconcile of a Machine: the order of the phases, and the writes."""

from __future__ import annotations

from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import CLUSTER_GROUP, Finalizer, Label
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.core.machine.bootstrap import reconcile_bootstrap
from kapy.core.machine.certificates import reconcile_certificates
from kapy.core.machine.deletion import reconcile_delete
from kapy.core.machine.in_place import reconcile_in_place
from kapy.core.machine.infrastructure import reconcile_infrastructure
from kapy.core.machine.node import reconcile_node
from kapy.core.machine.owner import reconcile_owner
from kapy.core.machine.scope import MachineScope, Tools
from kapy.core.machine.status import update_status
from kapy.engine.draft import Draft
from kapy.engine.phases import Phase, run_and_write
from kapy.engine.result import DONE, Result
from kapy.kube import Key

ALWAYS: Final[tuple[Phase[MachineScope], ...]] = (
    reconcile_owner,
    reconcile_bootstrap,
    reconcile_infrastructure,
    reconcile_node,
    reconcile_certificates,
)
NORMAL: Final = (*ALWAYS, reconcile_in_place)
DELETION: Final = (*ALWAYS, reconcile_delete)


async def reconcile(tools: Tools, key: Key) -> Result:
    """Reconcile a Machine; the creation of a missing Cluster enqueues it."""
    document = tools.fleet.machines.raw(key)
    if document is None:
        tools.temporary_watches.release_unused(key)
        tools.status_memo.forget(key)
        tools.status_delay.forget(key)
        tools.update_progress.forget(key)
        tools.node_deletions.forget(key)
        return DONE
    draft = Draft(tools.client, Machine, document)
    machine = draft.object
    clusters = tools.fleet.clusters
    result = clusters.raw(Key(key.namespace, machine.spec.cluster_name))
    if result is None:
        return DONE
    cluster = clusters.decode_shared(result)
    fresh = not machine.deleting and Finalizer.MACHINE not in machine.metadata.finalizers
    if fresh:
        machine.metadata.finalizers.append(Finalizer.MACHINE)
    if is_paused(machine, cluster):
        set_condition(machine, paused_condition(machine, cluster), tools.clock())
        await draft.save()
        return DONE
    if fresh:
        # Before anything is done, or a deletion meanwhile would leave it undone.
        await draft.save_spec()
    machine_set = _machine_set(tools, machine)
    scope = MachineScope(
        tools=tools,
        draft=draft,
        cluster=cluster,
        now=tools.clock(),
        health=tools.remote.health(cluster.key),
        machine_set=machine_set,
        deployment=_deployment(tools, machine_set),
    )
    return await _work(scope)


async def _work(scope: MachineScope) -> Result:
    phases = DELETION if scope.machine.deleting else NORMAL
    return await run_and_write(phases, scope, _write)


async def _write(scope: MachineScope, *, failed: bool) -> Result:
    """Write metadata and spec first, so that the status refers to the new generation."""
    await scope.draft.save_spec()
    machine = scope.machine
    if not failed:
        scope.tools.temporary_watches.release_unused(machine.key, scope.watched)
    if machine.deleting and not machine.metadata.finalizers:
        return DONE
    computed, inputs = scope.tools.status_memo, None if failed else scope.status_inputs
    if computed.is_current(machine.key, inputs) and scope.draft.is_clean:
        return DONE
    again = update_status(scope)
    if not failed:
        machine.status.observed_generation = machine.metadata.generation
        if (wait := scope.tools.status_delay.wait(scope.draft, scope.now)) is not DONE:
            return again.earlier_of(wait)
    wrote = await scope.draft.save()
    if not wrote and inputs is not None and again.after is None:
        computed.keep(machine.key, inputs)
    return again


def _machine_set(tools: Tools, machine: Machine) -> MachineSet | None:
    for owner in machine.metadata.owner_references:
        if owner.kind == "MachineSet" and owner.api_version.startswith(f"{CLUSTER_GROUP}/"):
            result = tools.fleet.machine_sets.raw(Key(machine.metadata.namespace, owner.name))
            return None if result is None else tools.fleet.machine_set_of(result)
    return None


def _deployment(tools: Tools, machine_set: MachineSet | None) -> MachineDeployment | None:
    if machine_set is None:
        return None
    name = machine_set.metadata.labels.get(Label.DEPLOYMENT_NAME)
    if not name:
        return None
    result = tools.fleet.deployments.raw(Key(machine_set.metadata.namespace, name))
    return None if result is None else tools.fleet.deployment_of(result)
