"""One look at a Cluster: the order of the phases, and what is written."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster, ClusterAvailabilityGate
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_control_plane
from kapy.api.names import Finalizer
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.conditions.quiet import Memory, is_quiet
from kapy.core.cluster.control_plane import reconcile_control_plane
from kapy.core.cluster.deletion import reconcile_delete
from kapy.core.cluster.infrastructure import reconcile_infrastructure
from kapy.core.cluster.kubeconfig import reconcile_kubeconfig
from kapy.core.cluster.scope import ClusterScope, Descendants, Look, Tools
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
    """Bring a Cluster one step further."""
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
    """What belongs to the Cluster, as the cache has it; only to be read."""
    fleet = tools.fleet

    def look(document: Document) -> Look:
        machine = fleet.machine_of(document)
        return Look(machine, is_quiet(machine))

    deployments, sets = fleet.deployments_of(cluster), fleet.machine_sets_of(cluster)
    pools, machines = fleet.pools_of(cluster), fleet.machines_of(cluster)
    found = Descendants(
        deployments=[fleet.deployment_of(one) for one in deployments],
        machine_sets=[fleet.machine_set_of(one) for one in sets],
        pools=[read(one, MachinePool) for one in pools],
        documents=[*deployments, *sets, *pools, *machines],
    )
    memory = tools.memories.setdefault(cluster, Memory())
    for machine, quiet in memory.of(machines, None, look):
        (found.control_plane if is_control_plane(machine) else found.workers).append(machine)
        if quiet:
            found.quiet.add(id(machine))
    return found


def gates(tools: Tools, cluster: Cluster) -> list[ClusterAvailabilityGate]:
    """The availability gates that hold for the Cluster: its own, or those of its class.

    A class that is not there has none: that the Cluster waits for it, its topology tells.
    """
    topology, own = cluster.spec.topology, cluster.spec.availability_gates
    if own or topology is None:
        return own
    ref = topology.class_ref
    found = tools.classes.raw(Key(ref.namespace or cluster.metadata.namespace, ref.name))
    listed = found["spec"].get("availabilityGates") or () if found is not None else ()
    return [decode(one, ClusterAvailabilityGate) for one in listed]


async def _work(scope: ClusterScope) -> Result:
    phases: tuple[Phase[ClusterScope], ...] = DELETION if scope.cluster.deleting else NORMAL
    if scope.awaits_topology:
        phases = ()  # nothing of the Cluster is there yet, and it is not one without parts
    return await run_and_write(phases, scope, _write)


async def _write(scope: ClusterScope, *, failed: bool) -> Result:
    """Metadata and spec first: the status then speaks of the generation that they make."""
    await scope.draft.save_spec()
    cluster, before = scope.cluster, scope.cluster.status.phase
    if cluster.deleting and not cluster.metadata.finalizers:
        return DONE
    computed, inputs = scope.tools.computed, None if failed else scope.inputs
    if computed.is_current(cluster.key, inputs) and scope.draft.is_clean:
        return until_silent(scope)
    update_status(scope)
    if not failed:
        cluster.status.observed_generation = cluster.metadata.generation
    if not await scope.draft.save() and inputs is not None:
        computed.keep(cluster.key, inputs)
    if (phase := cluster.status.phase) != before:
        name = cluster.metadata.name
        scope.tools.events.normal(cluster, phase, f"Cluster {name} is {phase}")
    return until_silent(scope)
