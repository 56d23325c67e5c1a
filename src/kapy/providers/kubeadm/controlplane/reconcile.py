"""The reconcile of a KubeadmControlPlane: the order of its steps."""

from __future__ import annotations

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
from kapy.providers.kubeadm.controlplane.dependencies import BY_CLUSTER, Dependencies, SteadyUntil
from kapy.providers.kubeadm.controlplane.loop import KubeadmLoop, report_not_inspected
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.status import set_status
from kapy.providers.kubeadm.controlplane.unreachable import report_missing_connection
from kapy.providers.kubeadm.controlplane.uptodate import next_due, outdated
from kapy.remote.cluster_cache import NotConnected
from kapy.sdk import DONE, Result, conditions, requeue
from kapy.sdk.contracts import Found, InfraMachine, Unreadable
from kapy.sdk.controllers import Draft, is_paused, paused_condition
from kapy.sdk.machine_control_plane import control_plane_machines, next_transition

RESYNC_PERIOD: Final = timedelta(minutes=10)
"""The longest time without a full reconcile (upstream's default sync period)."""


class MixedManagement(KapyError):
    """Some control plane Machines have another owner."""


class Reconciler:
    """Reconciles KubeadmControlPlanes."""

    def __init__(self, dependencies: Dependencies) -> None:
        self.dependencies = dependencies
        cache = dependencies.runtime.cache
        self._control_planes = cache.informer(KubeadmControlPlane)
        self._clusters = cache.informer(Cluster)
        self._machines = cache.informer(Machine.RESOURCE)
        self._configs = cache.informer(KubeadmConfig)

    async def reconcile(self, key: Key) -> Result:
        """Reconcile one KubeadmControlPlane."""
        settled, clock = self.dependencies.steady_states, self.dependencies.runtime.clock
        now = clock()
        steady = settled.get(key, now)
        if steady is not None:
            return requeue(after=steady.moment - now, because=steady.reason)
        news = settled.count(key)
        document = self._control_planes.raw(key)
        if document is None:
            settled.forget(key)
            self.dependencies.cache.delayed_statuses.forget(key)
            return DONE
        cluster = self._cluster_of(document)
        if cluster is None:
            return DONE
        draft = Draft(self.dependencies.runtime.client, KubeadmControlPlane, document)
        kcp = draft.object
        if not kcp.deleting and Finalizer.KUBEADM_CONTROL_PLANE not in kcp.metadata.finalizers:
            kcp.metadata.finalizers.append(Finalizer.KUBEADM_CONTROL_PLANE)
            await draft.save()  # before anything is made that it has to outlive
        plane = ControlPlane(draft, cluster, clock())
        plane.set(paused_condition(kcp, cluster))
        if is_paused(kcp, cluster):
            await draft.save()
            return DONE
        result = await self._advance(plane)
        if plane.is_steady:
            # A timer, because etcd is asked and not watched.
            again = requeue(after=RESYNC_PERIOD, because="etcd cannot be watched")
            result = result.earlier_of(again)
            assert result.after is not None
            until = plane.now + result.after
            settled.store(key, news, SteadyUntil(until, result.reason), until)
        return result

    async def _advance(self, plane: ControlPlane) -> Result:
        foreign = self._read_machines(plane)
        if foreign and not plane.kcp.deleting:
            return await self._adopt_or_reject(plane, foreign)
        failure: Exception | None = None
        result = DONE
        try:
            for machine in plane.machines:
                await self._read_owned_objects(plane, machine)
            result = await (
                delete(self.dependencies, plane) if plane.kcp.deleting else self._run(plane)
            )
        except NotConnected as error:
            failure = error
            if not plane.kcp.deleting:
                report_missing_connection(self.dependencies, plane, error)
        except Exception as error:
            failure = error
        set_status(plane)
        if failure is None:
            plane.kcp.status.observed_generation = plane.kcp.metadata.generation
        self._requeue_for_time(plane)
        if failure is None or isinstance(failure, NotConnected):
            wait = self.dependencies.cache.delayed_statuses.wait(plane.draft, plane.now)
            if wait is not DONE:
                return result.earlier_of(plane.requeue).earlier_of(wait)
        await plane.draft.save()
        if failure is not None and not isinstance(failure, NotConnected):
            raise failure
        return result.earlier_of(plane.requeue)

    async def _run(self, plane: ControlPlane) -> Result:
        result = await KubeadmLoop(self.dependencies, plane).run()
        plane.is_steady = result is None
        return result or DONE

    async def _adopt_or_reject(self, plane: ControlPlane, foreign: list[Document]) -> Result:
        """Adopt control plane Machines without a controller; other foreign ones are an error.

        The status stays unchanged in that case. Raises MixedManagement, CannotAdopt.
        """
        adoptable = [item for item in foreign if is_adoptable(item)]
        try:
            if adoptable:
                await adopt(self.dependencies, plane, adoptable)
                return DONE
            names = shorten(sorted(item["metadata"]["name"] for item in foreign), 3)
            raise MixedManagement(
                "not all control plane machines are owned by this KubeadmControlPlane, refusing to"
                f" operate in mixed management mode: {names}"
            )
        except (CannotAdopt, MixedManagement) as error:
            report_not_inspected(plane, str(error))
            await plane.draft.save()
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
        """Timers for what time alone changes: rollouts by date, issues that get old enough, and
        Machines that are not young any more or take long to go."""
        plane.requeue_by(next_transition(plane.machines, plane.now))
        due = next_due(plane.kcp, plane.machines, plane.now)
        if due is not None:
            plane.requeue_by(requeue(after=due - plane.now, because="Machines become outdated"))
        if conditions.is_true(plane.kcp.status.conditions, T.AVAILABLE):
            after = next_report_after(plane)
            if after is not None:
                plane.requeue_by(requeue(after=after, because="an issue is not told yet"))
