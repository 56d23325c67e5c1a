"""The reconciler of KubeadmControlPlanes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import CLUSTER_GROUP, Finalizer
from kapy.api.names import ConditionType as T
from kapy.api.wording import shorten
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import split_api_version
from kapy.providers.kubeadm.bootstrap.discovery import endpoint_of
from kapy.providers.kubeadm.controlplane.adoption import CannotAdopt, adopt, is_adoptable
from kapy.providers.kubeadm.controlplane.availability import next_report_after
from kapy.providers.kubeadm.controlplane.deletion import delete
from kapy.providers.kubeadm.controlplane.dependencies import (
    BY_CLUSTER,
    Dependencies,
    EtcdQuery,
    SteadyState,
)
from kapy.providers.kubeadm.controlplane.etcd_access import read_etcd
from kapy.providers.kubeadm.controlplane.etcd_health import nodes_to_query
from kapy.providers.kubeadm.controlplane.loop import KubeadmLoop, report_not_inspected
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.status import set_status
from kapy.providers.kubeadm.controlplane.unreachable import report_missing_connection
from kapy.providers.kubeadm.controlplane.uptodate import next_due, outdated
from kapy.remote.cluster_cache import NotConnected
from kapy.sdk import DONE, Result, conditions, requeue
from kapy.sdk.contracts import Found, InfraMachine, Unreadable
from kapy.sdk.controllers import Draft, Phase, Reconciler, paused_condition, report_pause
from kapy.sdk.machine_control_plane import control_plane_machines, next_transition

ETCD_PERIOD: Final = timedelta(minutes=10)
"""The time between two requests to etcd while nothing else changes (upstream's default sync
period)."""
FULL_PERIOD: Final = timedelta(hours=1)
"""The longest time without a full reconcile."""


class MixedManagement(KapyError):
    """Some control plane Machines have another owner."""


class KubeadmControlPlaneReconciler(Reconciler[KubeadmControlPlane, ControlPlane]):
    """Reconciles KubeadmControlPlanes."""

    def __init__(self, dependencies: Dependencies) -> None:
        cache = dependencies.runtime.cache
        kind, finalizer = KubeadmControlPlane, Finalizer.KUBEADM_CONTROL_PLANE
        super().__init__(kind, cache.informer(kind), dependencies.runtime.client, finalizer)
        self.dependencies = dependencies
        self._changes_at_start: dict[Key, int] = {}
        self._clusters = cache.informer(Cluster)
        self._machines = cache.informer(Machine.RESOURCE)
        self._configs = cache.informer(KubeadmConfig)

    async def reconcile(self, key: Key) -> Result:
        """Reconcile one KubeadmControlPlane, if something has changed since it was steady."""
        states, now = self.dependencies.steady_states, self.dependencies.runtime.clock()
        state, changes = states.get(key, now), states.count(key)
        if state is not None and state.moment <= now and await self._is_etcd_unchanged(state.etcd):
            state = state._replace(moment=min(state.full, now + ETCD_PERIOD))
            states.store(key, changes, state, state.full)
        if state is not None and state.moment > now:
            return requeue(after=state.moment - now, because=state.reason)
        self._changes_at_start[key] = changes
        return await super().reconcile(key)

    async def _is_etcd_unchanged(self, query: EtcdQuery | None) -> bool:
        if query is None:
            return True
        before = query.answer
        answer = await read_etcd(self.dependencies, query.cluster, query.nodes)
        return not answer.failure and (
            (answer.leader, answer.members, answer.alarms)
            == (before.leader, before.members, before.alarms)
        )

    async def begin(self, draft: Draft[KubeadmControlPlane]) -> ControlPlane | Result:
        cluster = self._cluster_of(draft.before)
        if cluster is None:
            return DONE
        return ControlPlane(draft, cluster, self.dependencies.runtime.clock())

    def pause(self, plane: ControlPlane) -> bool:
        return report_pause(plane.kcp, plane.cluster, plane.now)

    def delays_status(self, _plane: ControlPlane) -> bool:
        return True

    def phases(self, _plane: ControlPlane) -> Sequence[Phase[ControlPlane]]:
        return (self._advance,)

    async def _advance(self, plane: ControlPlane) -> Result:
        plane.foreign = self._read_machines(plane)
        if plane.foreign and not plane.kcp.deleting:
            return await self._adopt_or_reject(plane)
        try:
            for machine in plane.machines:
                await self._read_owned_objects(plane, machine)
            if plane.kcp.deleting:
                return await delete(self.dependencies, plane)
            result = await KubeadmLoop(self.dependencies, plane).run()
            plane.is_steady = result is None
            return result or DONE
        except NotConnected as error:
            if not plane.kcp.deleting:
                report_missing_connection(self.dependencies, plane, error)
            return DONE

    def set_status(self, plane: ControlPlane) -> Result:
        """Set the status; that of a control plane with foreign Machines stays as it is."""
        plane.set(paused_condition(plane.kcp, plane.cluster))
        if plane.kcp.deleting or not plane.foreign:
            set_status(plane)
        return DONE

    def set_observed_generation(self, plane: ControlPlane) -> None:
        """Report the generation, unless the reconcile has only adopted Machines."""
        if plane.kcp.deleting or not plane.foreign:
            super().set_observed_generation(plane)

    def requeue(self, plane: ControlPlane) -> Result:
        self._requeue_for_time(plane)
        return plane.requeue

    async def write(self, plane: ControlPlane, *, failed: bool) -> Result:
        """Write the control plane. One in a steady state is not reconciled again before it, or
        something that belongs to it, changes.
        """
        result = await super().write(plane, failed=failed)
        if not plane.is_steady:
            return result
        # Timers, because etcd is asked and not watched.
        because = "etcd cannot be watched"
        period = ETCD_PERIOD if plane.has_unwatched_secrets else FULL_PERIOD
        full = result.earlier_of(requeue(after=period, because=because))
        result = full.earlier_of(requeue(after=ETCD_PERIOD, because=because))
        assert full.after is not None
        assert result.after is not None
        moment, latest = plane.now + result.after, plane.now + full.after
        state, key = SteadyState(moment, result.reason, latest, _query_of(plane)), plane.kcp.key
        self.dependencies.steady_states.store(key, self._changes_at_start[key], state, latest)
        return result

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.steady_states.forget(key)
        self.dependencies.cache.forget(key)
        self._changes_at_start.pop(key, None)

    async def _adopt_or_reject(self, plane: ControlPlane) -> Result:
        """Adopt control plane Machines without a controller; other foreign ones are an error.

        Raises MixedManagement, CannotAdopt.
        """
        adoptable = [item for item in plane.foreign if is_adoptable(item)]
        try:
            if adoptable:
                await adopt(self.dependencies, plane, adoptable)
                return DONE
            names = shorten(sorted(item["metadata"]["name"] for item in plane.foreign), 3)
            raise MixedManagement(
                "not all control plane machines are owned by this KubeadmControlPlane, refusing to"
                f" operate in mixed management mode: {names}"
            )
        except (CannotAdopt, MixedManagement) as error:
            report_not_inspected(plane, str(error))
            raise

    def _read_machines(self, plane: ControlPlane) -> list[Document]:
        """Read the owned Machines; none before there can be any.

        Returns the cluster's control plane Machines of other owners.
        """
        provisioned = plane.cluster.status.initialization.infrastructure_provisioned
        if not (provisioned and endpoint_of(plane.cluster)):
            return []
        machines = self._machines.list_by_index(BY_CLUSTER, str(plane.cluster.key))
        results = control_plane_machines(machines, plane.kcp.metadata.uid)
        client = self.dependencies.runtime.client
        plane.drafts += [Draft(client, Machine, document) for document in results.own]
        return list(results.foreign)

    async def _read_owned_objects(self, plane: ControlPlane, machine: Machine) -> None:
        name, namespace = machine.metadata.name, machine.metadata.namespace
        reference = machine.spec.bootstrap.config_ref
        config = self._configs.get(Key(namespace, reference.name)) if reference else None
        if config is not None:
            plane.configs[name] = config
        result = await self.dependencies.external.get(
            machine.spec.infrastructure_ref, namespace, InfraMachine
        )
        if isinstance(result, Unreadable):
            raise result.error
        if isinstance(result, Found):
            plane.infrastructure[name] = result.view.document
        plane.outdated[name] = outdated(
            plane.kcp,
            machine,
            config,
            plane.infrastructure.get(name),
            plane.now,
            self.dependencies.matches,
        )

    def _cluster_of(self, document: Document) -> Cluster | None:
        metadata = document["metadata"]
        for reference in metadata.get("ownerReferences") or ():
            group, _ = split_api_version(reference["apiVersion"])
            if (group, reference["kind"]) == (CLUSTER_GROUP, "Cluster"):
                return self._clusters.get(Key(metadata["namespace"], reference["name"]))
        return None

    def _requeue_for_time(self, plane: ControlPlane) -> None:
        """Requeue for changes that only depend on time: dates of rollouts, issues that have lasted
        long enough to be reported, Machines in creation or deletion."""
        plane.requeue_by(next_transition(plane.machines, plane.now))
        due = next_due(plane.kcp, plane.machines, plane.now)
        if due is not None:
            plane.requeue_by(requeue(after=due - plane.now, because="Machines become outdated"))
        if conditions.is_true(plane.kcp.status.conditions, T.AVAILABLE):
            after = next_report_after(plane)
            if after is not None:
                plane.requeue_by(
                    requeue(after=after, because="an issue becomes old enough to be reported")
                )


def _query_of(plane: ControlPlane) -> EtcdQuery | None:
    if not plane.is_etcd_managed or plane.etcd.members is None:
        return None
    return EtcdQuery(plane.cluster.key, nodes_to_query(plane), plane.etcd)
