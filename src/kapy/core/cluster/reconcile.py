"""The reconciler of Clusters, and the phase that creates the kubeconfig of a Cluster whose control
plane has no provider.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.cluster import Cluster, ClusterAvailabilityGate
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_control_plane
from kapy.api.names import Finalizer
from kapy.conditions.aggregation_input import MemoCache, group_of
from kapy.conditions.paused import report_pause
from kapy.core.cluster.deletion import reconcile_delete
from kapy.core.cluster.providers import reconcile_control_plane, reconcile_infrastructure
from kapy.core.cluster.scope import ClusterScope, Dependencies, Descendants, ObservedMachine
from kapy.core.cluster.status import has_endpoint, until_silent, update_status
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Phase, Reconciler
from kapy.engine.result import DONE, Result
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.meta import owner_reference, read
from kapy.kube.model import decode
from kapy.kube.names import SECRETS
from kapy.remote.kubeconfig_secret import kubeconfig_secret
from kapy.remote.secrets import CLUSTER_CA, KUBECONFIG, key_pair, secret_key


async def _reconcile_kubeconfig(scope: ClusterScope) -> Result:
    """Create the Secret once the CA exists (which enqueues the Cluster); it is not changed
    later.
    """
    cluster, dependencies = scope.cluster, scope.dependencies
    if cluster.spec.control_plane_ref is not None or not has_endpoint(cluster):
        return DONE
    secrets = dependencies.remote.secrets
    if secrets.raw(secret_key(cluster.key, KUBECONFIG)) is not None:
        return DONE
    authority = await _authority(scope)
    if authority is None:
        return DONE
    endpoint = cluster.spec.control_plane_endpoint
    secret = kubeconfig_secret(
        cluster.key,
        f"https://{_url_host(endpoint.host)}:{endpoint.port}",
        key_pair(authority),
        owner_reference(cluster),
        now=scope.now,
        key=await dependencies.keys.new(),
    )
    try:
        await dependencies.client.create(SECRETS, secret)
    except AlreadyExists:
        return DONE  # created by an attempt whose response was lost, or by a user
    return DONE


async def _authority(scope: ClusterScope) -> Document | None:
    key, dependencies = secret_key(scope.cluster.key, CLUSTER_CA), scope.dependencies
    cached = dependencies.remote.secrets.raw(key)
    if cached is not None:
        return cached
    try:
        return await dependencies.client.get(SECRETS, key)
    except NotFound:
        return None


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class ClusterReconciler(Reconciler[Cluster, ClusterScope]):
    """Reconciles Clusters in phases, and writes their status."""

    normal = (reconcile_infrastructure, reconcile_control_plane, _reconcile_kubeconfig)
    deletion = (reconcile_infrastructure, reconcile_control_plane, reconcile_delete)
    minor_counters = frozenset({"controlPlane", "workers"})

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(
            Cluster, dependencies.fleet.clusters, dependencies.client, Finalizer.CLUSTER
        )
        self.dependencies = dependencies

    async def begin(self, draft: Draft[Cluster]) -> ClusterScope:
        dependencies, key = self.dependencies, draft.object.key
        return ClusterScope(
            dependencies=dependencies,
            draft=draft,
            now=dependencies.clock(),
            health=dependencies.remote.health(key),
            descendants=descendants(dependencies, key),
            gates=gates(dependencies, draft.object),
        )

    def pause(self, scope: ClusterScope) -> bool:
        return report_pause(scope.cluster, scope.cluster, scope.now)

    def delays_status(self, _scope: ClusterScope) -> bool:
        return True

    def phases(self, scope: ClusterScope) -> Sequence[Phase[ClusterScope]]:
        """Return the phases of a reconcile. There are none before the topology controller has
        created the Cluster's objects.
        """
        return () if scope.awaits_topology else super().phases(scope)

    def status_inputs(self, scope: ClusterScope) -> StatusInputs | None:
        return scope.status_inputs

    def set_status(self, scope: ClusterScope) -> Result:
        update_status(scope)
        return DONE

    def requeue(self, scope: ClusterScope) -> Result:
        return until_silent(scope)

    async def save(self, scope: ClusterScope) -> bool:
        """Write the Cluster, and report its new phase in an Event."""
        before = (scope.draft.before.get("status") or {}).get("phase", "")
        wrote = await super().save(scope)
        cluster = scope.cluster
        if (phase := cluster.status.phase) != before:
            name = cluster.metadata.name
            self.dependencies.events.normal(cluster, phase, f"Cluster {name} is {phase}")
        return wrote

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.machine_caches.pop(key, None)

    def drop_memos(self, key: Key) -> None:
        super().drop_memos(key)
        self.dependencies.machine_caches.pop(key, None)


def descendants(dependencies: Dependencies, cluster: Key) -> Descendants:
    """Return the cached objects that belong to the Cluster; read only."""
    objects = dependencies.fleet

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
    memory = dependencies.machine_caches.setdefault(cluster, MemoCache())
    for machine, group in memory.map(machines, None, look):
        (result.control_plane if is_control_plane(machine) else result.workers).append(machine)
        if group is not None:
            result.groups[id(machine)] = group
    return result


def gates(dependencies: Dependencies, cluster: Cluster) -> list[ClusterAvailabilityGate]:
    """Return the Cluster's availability gates: its own, or those of its class.

    A missing class has none: the topology conditions report that.
    """
    topology, own = cluster.spec.topology, cluster.spec.availability_gates
    if own or topology is None:
        return own
    ref = topology.class_ref
    result = dependencies.classes.raw(Key(ref.namespace or cluster.metadata.namespace, ref.name))
    listed = result["spec"].get("availabilityGates") or () if result is not None else ()
    return [decode(item, ClusterAvailabilityGate) for item in listed]
