"""One reconcile of a Cluster: the order of the phases, and the writes."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster, ClusterAvailabilityGate
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_control_plane
from kapy.api.names import Finalizer
from kapy.conditions.aggregation_input import MemoCache, group_of
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.core.cluster.control_plane import reconcile_control_plane
from kapy.core.cluster.deletion import reconcile_delete
from kapy.core.cluster.infrastructure import reconcile_infrastructure
from kapy.core.cluster.kubeconfig import reconcile_kubeconfig
from kapy.core.cluster.scope import ClusterScope, Descendants, ObservedMachine, Tools
from kapy.core.cluster.status import until_silent, update_status
from kapy.engine.draft import Draft
from kapy.engine.phases import Phase, run_and_write
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.model import decode

ALWAYS: Final[tuple[Phase[ClusterScope], ...]] = (
    reconcile_infrastructure,
    reconcile_control_plane,
)
NORMAL: Final = (*ALWAYS, reconcile_kubeconfig)
DELETION: Final = (*ALWAYS, reconcile_delete)


async def reconcile(tools: Tools, key: Key) -> Result:
    """Reconcile a Cluster."""
    document = tools.fleet.clusters.raw(key)
    if document is None:
        tools.forget(key)
        return DONE
    draft = Draft(tools.client, Cluster, document)
    cluster = draft.object
    fresh = not cluster.deleting and Finalizer.CLUSTER not in cluster.metadata.finalizers
    if fresh:
        cluster.metadata.finalizers.append(Finalizer.CLUSTER)
    if is_paused(cluster, cluster):
        set_condition(cluster, paused_condition(cluster, cluster), tools.clock())
        await draft.save()
        return DONE
    if fresh:
        # Before anything is done, or a deletion meanwhile would leave it undone.
        await draft.save_spec()
    scope = ClusterScope(
        tools=tools,
        draft=draft,
        now=tools.clock(),
        health=tools.remote.health(key),
        descendants=descendants(tools, key),
        gates=gates(tools, cluster),
    )
    return await _work(scope)


def descendants(tools: Tools, cluster: Key) -> Descendants:
    """Return the cached objects that belong to the Cluster; read only."""
    objects = tools.fleet

    def look(document: Document) -> ObservedMachine:
        machine = objects.machine_of(document)
        return ObservedMachine(machine, group_of(machine))

    deployments, sets = objects.deployments_of(cluster), objects.machine_sets_of(cluster)
    pools, machines = objects.pools_of(cluster), objects.machines_of(cluster)
    result = Descendants(
        deployments=[objects.deployment_of(deployment) for deployment in deployments],
        machine_sets=[objects.machine_set_of(machine_set) for machine_set in sets],
        pools=[read(pool, MachinePool) for pool in pools],
        documents=[*deployments, *sets, *pools, *machines],
    )
    memory = tools.machine_caches.setdefault(cluster, MemoCache())
    for machine, group in memory.map(machines, None, look):
        (result.control_plane if is_control_plane(machine) else result.workers).append(machine)
        if group is not None:
            result.groups[id(machine)] = group
    return result


def gates(tools: Tools, cluster: Cluster) -> list[ClusterAvailabilityGate]:
    """Return the Cluster's availability gates: its own, or those of its class.

    A missing class has none: the topology conditions report that.
    """
    topology, own = cluster.spec.topology, cluster.spec.availability_gates
    if own or topology is None:
        return own
    ref = topology.class_ref
    result = tools.classes.raw(Key(ref.namespace or cluster.metadata.namespace, ref.name))
    listed = result["spec"].get("availabilityGates") or () if result is not None else ()
    return [decode(item, ClusterAvailabilityGate) for item in listed]


async def _work(scope: ClusterScope) -> Result:
    phases: tuple[Phase[ClusterScope], ...] = DELETION if scope.cluster.deleting else NORMAL
    if scope.awaits_topology:
        phases = ()  # nothing of the Cluster is there yet, and it is not one without parts
    return await run_and_write(phases, scope, _write)


async def _write(scope: ClusterScope, *, failed: bool) -> Result:
    """Write metadata and spec first, so that the status refers to the new generation."""
    await scope.draft.save_spec()
    cluster, before = scope.cluster, scope.cluster.status.phase
    if cluster.deleting and not cluster.metadata.finalizers:
        return DONE
    computed, inputs = scope.tools.status_memo, None if failed else scope.status_inputs
    if computed.is_current(cluster.key, inputs) and scope.draft.is_clean:
        return until_silent(scope)
    update_status(scope)
    if not failed:
        cluster.status.observed_generation = cluster.metadata.generation
        if (wait := scope.tools.status_delay.wait(scope.draft, scope.now)) is not DONE:
            return wait.earlier_of(until_silent(scope))
    if not await scope.draft.save() and inputs is not None:
        computed.keep(cluster.key, inputs)
    if (phase := cluster.status.phase) != before:
        name = cluster.metadata.name
        scope.tools.events.normal(cluster, phase, f"Cluster {name} is {phase}")
    return until_silent(scope)
