"""The reconcile of a KubeadmControlPlane: the order of its steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import CLUSTER_GROUP, Finalizer, Label, Reason
from kapy.api.names import ConditionType as T
from kapy.api.wording import shortened
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import split_api_version
from kapy.providers.kubeadm.bootstrap.discovery import endpoint_of
from kapy.providers.kubeadm.controlplane.addons import update_addons
from kapy.providers.kubeadm.controlplane.adoption import CannotAdopt, adopt, is_adoptable
from kapy.providers.kubeadm.controlplane.availability import next_to_tell
from kapy.providers.kubeadm.controlplane.certificates import ensure_certificates
from kapy.providers.kubeadm.controlplane.deletion import delete
from kapy.providers.kubeadm.controlplane.expiry import note_expiries
from kapy.providers.kubeadm.controlplane.health import observe
from kapy.providers.kubeadm.controlplane.in_place import complete_updates
from kapy.providers.kubeadm.controlplane.isolation import tell_missing_connection
from kapy.providers.kubeadm.controlplane.kubeconfig import ensure_kubeconfig
from kapy.providers.kubeadm.controlplane.machines import sync_machines
from kapy.providers.kubeadm.controlplane.members import release_deleting, remove_strangers
from kapy.providers.kubeadm.controlplane.remediation import remediate
from kapy.providers.kubeadm.controlplane.scaling import scale
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.settled import LOOK_ANYWAY
from kapy.providers.kubeadm.controlplane.status import set_status
from kapy.providers.kubeadm.controlplane.template import own_template
from kapy.providers.kubeadm.controlplane.tools import BY_CLUSTER, Tools
from kapy.providers.kubeadm.controlplane.uptodate import next_due, outdated
from kapy.remote.cluster_cache import NotConnected
from kapy.sdk import (
    DONE,
    Draft,
    Found,
    InfraMachine,
    Result,
    Unreadable,
    conditions,
    is_paused,
    next_transition,
    paused_condition,
    requeue,
)

Step: TypeAlias = Callable[[Tools, ControlPlane], Awaitable[Result | None]]
"""None: go on with the next step."""


class MixedManagement(KapyError):
    """Some control plane Machines have another owner."""


async def _await_infrastructure(_: Tools, plane: ControlPlane) -> Result | None:
    if plane.cluster.status.initialization.infrastructure_provisioned:
        return None
    return _waiting(plane, "Waiting for Cluster status.infrastructureReady to be true")


async def _await_endpoint(_: Tools, plane: ControlPlane) -> Result | None:
    if endpoint_of(plane.cluster):
        return None
    return _waiting(plane, "Waiting for Cluster spec.controlPlaneEndpoint to be set")


def _waiting(plane: ControlPlane, message: str) -> Result:
    _not_inspected(plane, message)
    return DONE


async def _await_updates(_: Tools, plane: ControlPlane) -> Result | None:
    """Only one step at a time: a Machine that is updated in place triggers a reconcile when it is
    done."""
    return DONE if any(map(is_updating_in_place, plane.machines)) else None


def _not_inspected(plane: ControlPlane, message: str) -> None:
    types = [T.CONTROL_PLANE_COMPONENTS_HEALTHY]
    if plane.is_etcd_managed:
        types.append(T.ETCD_CLUSTER_HEALTHY)
    for type_ in types:
        plane.set(conditions.unknown(type_, Reason.INSPECTION_FAILED, message))


STEPS: Final[tuple[Step, ...]] = (
    own_template,
    _await_infrastructure,
    ensure_certificates,
    _await_endpoint,
    ensure_kubeconfig,
    sync_machines,
    observe,
    remove_strangers,
    release_deleting,
    complete_updates,
    remediate,
    _await_updates,
    scale,
    update_addons,
    note_expiries,
)


class Reconciler:
    """Reconciles KubeadmControlPlanes."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        cache = tools.runtime.cache
        self._control_planes = cache.informer(KubeadmControlPlane)
        self._clusters = cache.informer(Cluster)
        self._machines = cache.informer(Machine.RESOURCE)
        self._configs = cache.informer(KubeadmConfig)

    async def reconcile(self, key: Key) -> Result:
        """Reconcile one KubeadmControlPlane."""
        settled, clock = self.tools.settled, self.tools.runtime.clock
        rest = settled.rest(key, clock())
        if rest is not None:
            return rest
        news = settled.count(key)
        document = self._control_planes.raw(key)
        if document is None:
            settled.forget(key)
            return DONE
        cluster = self._cluster_of(document)
        if cluster is None:
            return DONE
        draft = Draft(self.tools.runtime.client, KubeadmControlPlane, document)
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
        if plane.is_settled:
            # A timer, because etcd is asked and not watched.
            again = requeue(after=LOOK_ANYWAY, because="etcd cannot be watched")
            result = result.earlier_of(again)
            settled.settle(key, news, result, plane.now)
        return result

    async def _advance(self, plane: ControlPlane) -> Result:
        strangers = self._take_machines(plane)
        if strangers and not plane.kcp.deleting:
            return await self._face(plane, strangers)
        failure: Exception | None = None
        result = DONE
        try:
            for machine in plane.machines:
                await self._read_belongings(plane, machine)
            result = await (delete(self.tools, plane) if plane.kcp.deleting else self._steps(plane))
        except NotConnected as error:
            failure = error
            if not plane.kcp.deleting:
                tell_missing_connection(self.tools, plane, error)
        except Exception as error:
            failure = error
        set_status(plane)
        if failure is None:
            plane.kcp.status.observed_generation = plane.kcp.metadata.generation
        self._wake_in_time(plane)
        await plane.draft.save()
        if failure is not None and not isinstance(failure, NotConnected):
            raise failure
        return result.earlier_of(plane.wake)

    async def _steps(self, plane: ControlPlane) -> Result:
        for step in STEPS:
            result = await step(self.tools, plane)
            if result is not None:
                return result
        plane.is_settled = True
        return DONE

    async def _face(self, plane: ControlPlane, strangers: list[Document]) -> Result:
        """Adopt control plane Machines without a controller; other foreign ones are an error.

        The status stays unchanged in that case. Raises MixedManagement, CannotAdopt.
        """
        adoptable = [one for one in strangers if is_adoptable(one)]
        try:
            if adoptable:
                await adopt(self.tools, plane, adoptable)
                return DONE
            names = shortened(sorted(one["metadata"]["name"] for one in strangers), 3)
            raise MixedManagement(
                "not all control plane machines are owned by this KubeadmControlPlane, refusing to"
                f" operate in mixed management mode: {names}"
            )
        except (CannotAdopt, MixedManagement) as error:
            _not_inspected(plane, str(error))
            await plane.draft.save()
            raise

    def _take_machines(self, plane: ControlPlane) -> list[Document]:
        """Read the owned Machines; none before there can be any.

        Returns the cluster's control plane Machines of other owners.
        """
        strangers: list[Document] = []
        provisioned = plane.cluster.status.initialization.infrastructure_provisioned
        if not (provisioned and endpoint_of(plane.cluster)):
            return strangers
        for document in self._machines.indexed(BY_CLUSTER, str(plane.cluster.key)):
            if Label.CONTROL_PLANE not in (document["metadata"].get("labels") or {}):
                continue
            if _is_owned(document, plane.kcp):
                plane.drafts.append(Draft(self.tools.runtime.client, Machine, document))
            else:
                strangers.append(document)
        return strangers

    async def _read_belongings(self, plane: ControlPlane, machine: Machine) -> None:
        name, namespace = machine.metadata.name, machine.metadata.namespace
        reference = machine.spec.bootstrap.config_ref
        config = self._configs.get(Key(namespace, reference.name)) if reference else None
        if config is not None:
            plane.configs[name] = config
        found = await self.tools.external.get(
            machine.spec.infrastructure_ref, namespace, InfraMachine
        )
        if isinstance(found, Unreadable):
            raise found.error
        if isinstance(found, Found):
            plane.infrastructure[name] = found.view.document
        plane.outdated[name] = outdated(
            plane.kcp,
            machine,
            config,
            plane.infrastructure.get(name),
            plane.now,
            self.tools.matches,
        )

    def _cluster_of(self, document: Document) -> Cluster | None:
        metadata = document["metadata"]
        for reference in metadata.get("ownerReferences") or ():
            group, _ = split_api_version(reference["apiVersion"])
            if (group, reference["kind"]) == (CLUSTER_GROUP, "Cluster"):
                return self._clusters.get(Key(metadata["namespace"], reference["name"]))
        return None

    def _wake_in_time(self, plane: ControlPlane) -> None:
        """Timers for what time alone changes: rollouts by date, issues that get old enough, and
        Machines that are not young any more or take long to go."""
        plane.wake_by(next_transition(plane.machines, plane.now))
        due = next_due(plane.kcp, plane.machines, plane.now)
        if due is not None:
            plane.wake_by(requeue(after=due - plane.now, because="Machines become outdated"))
        if conditions.is_true(plane.kcp.status.conditions, T.AVAILABLE):
            after = next_to_tell(plane)
            if after is not None:
                plane.wake_by(requeue(after=after, because="an issue is not told yet"))


def _is_owned(document: Document, kcp: KubeadmControlPlane) -> bool:
    owners = document["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == kcp.metadata.uid for one in owners)
