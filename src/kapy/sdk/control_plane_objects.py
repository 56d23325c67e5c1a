"""The ControlPlane contract (v1beta2), as far as it is the same for all control planes.

Upstream's document: `providers/contracts/control-plane.md`. In the order in which it happens:

* an object that is managed from outside, or has no Cluster, is left alone (and let go, when it is
  to be deleted);
* the finalizer is stored before the provider is asked for anything;
* nothing happens while the Cluster or the object is paused, and Paused says so;
* a control plane waits for the cluster's infrastructure, and for the Cluster's endpoint where it
  brings none, unless its provider says otherwise;
* the endpoint and the kubeconfig Secret are there before
  `status.initialization.controlPlaneInitialized`, which is never taken back;
* deletion waits for the cluster's workers, releases what there is, and then removes the finalizer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.embedded import APIEndpoint
from kapy.api.names import ConditionType, Reason
from kapy.api.wording import shortened
from kapy.conditions import false
from kapy.conditions.paused import is_paused
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.meta import owner_reference, read
from kapy.kube.names import Resource
from kapy.kube.pki import KeyPair
from kapy.sdk.answers import Endpoint, Released, Waiting
from kapy.sdk.control_plane import AnyControlPlaneProvider, ControlPlaneOrder
from kapy.sdk.control_plane_kinds import ControlPlaneLens
from kapy.sdk.control_plane_watches import ControlPlaneWatches
from kapy.sdk.keychain import ClusterKeys, Keychain
from kapy.sdk.kubeconfigs import Kubeconfigs
from kapy.sdk.ownership import cluster_key, endpoint_of, is_externally_managed
from kapy.sdk.provider_objects import ProviderObjects
from kapy.sdk.readiness import report_v1beta1

T = TypeVar("T")


class ControlPlaneObjects(ProviderObjects[ControlPlaneLens], Generic[T]):
    """Reconciles the control planes of one kind."""

    sums_up: ClassVar[str] = ConditionType.AVAILABLE

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: AnyControlPlaneProvider[T],
        finalizer: str,
        lens: type[ControlPlaneLens] = ControlPlaneLens,
    ) -> None:
        super().__init__(runtime, kind, lens, finalizer)
        self._about = provider
        self._keychain = Keychain.of(runtime)
        self._kubeconfigs = Kubeconfigs(runtime, self._keychain)
        self.watches = ControlPlaneWatches(runtime, self._lens.RESOURCE)

    @abstractmethod
    async def _running(self, draft: Draft[ControlPlaneLens], order: ControlPlaneOrder[T]) -> Result:
        """Reconcile a control plane whose preconditions are met."""

    @abstractmethod
    async def _release(
        self, draft: Draft[ControlPlaneLens], order: ControlPlaneOrder[T]
    ) -> Released | Waiting:
        """Delete a control plane whose workers are gone."""

    async def reconcile(self, key: Key) -> Result:
        """Reconcile one control plane."""
        document = self._objects.raw(key)
        if document is None:
            return DONE
        draft = Draft(self._runtime.client, self._lens, document)
        if is_externally_managed(draft.object.metadata):
            return DONE
        owner = cluster_key(draft.object.metadata)
        cluster = None if owner is None else self._clusters.get(owner)
        if draft.object.deleting:
            return await self._deleting(draft, owner, cluster)
        if cluster is None or not self._about.serves(document):
            return DONE  # core sets the owner reference, which changes the object
        if self._finalizer not in draft.object.metadata.finalizers:
            draft.object.metadata.finalizers.append(self._finalizer)
            await draft.save()
        result = DONE
        if not is_paused(draft.object, cluster):
            async with self._asking(draft, cluster, "FailedConverge"):
                result = await self._begun(draft, cluster)
        await self._save(draft, cluster)
        return result

    async def _begun(self, draft: Draft[ControlPlaneLens], cluster: Cluster) -> Result:
        if self._is_failed(draft):
            return DONE
        order = self._order(draft, cluster.key, cluster)
        infrastructure = cluster.status.initialization.infrastructure_provisioned
        if self._about.needs_infrastructure and not infrastructure:
            return self._not_yet(draft, "Waiting for the Cluster's infrastructure")
        if not self._about.provides_endpoint and order.endpoint is None:
            return self._not_yet(draft, "Waiting for Cluster spec.controlPlaneEndpoint to be set")
        return await self._running(draft, order)

    def _not_yet(self, draft: Draft[ControlPlaneLens], because: str) -> Result:
        """What is waited for is watched."""
        answer = Waiting(because=because, poll_after=None)
        return self._waiting(draft, answer, Reason.NOT_AVAILABLE)

    async def _deleting(
        self, draft: Draft[ControlPlaneLens], owner: Key | None, cluster: Cluster | None
    ) -> Result:
        if owner is None:
            return await self._let_go(draft, cluster, None)
        order = self._order(draft, owner, cluster)

        async def release() -> Released | Waiting:
            if workers := self.watches.workers(owner):
                names = shortened(workers, 5)
                return Waiting(because=f"Waiting for workers to be gone: {names}", poll_after=None)
            return await self._release(draft, order)

        return await self._let_go(draft, cluster, release)

    async def _set_endpoint(
        self, draft: Draft[ControlPlaneLens], endpoint: Endpoint | None
    ) -> None:
        """Store the endpoint before reporting that the control plane is initialized."""
        spec = draft.object.spec
        if endpoint is not None and not spec.control_plane_endpoint.host:
            spec.control_plane_endpoint = APIEndpoint(host=endpoint.host, port=endpoint.port)
        # It also counts up the generation that the conditions then have seen.
        await draft.save_spec()

    async def _keep_kubeconfig(
        self,
        draft: Draft[ControlPlaneLens],
        order: ControlPlaneOrder[T],
        *,
        kubeconfig: bytes = b"",
        authority: KeyPair | None = None,
    ) -> Result:
        """Maintain the kubeconfig Secret; requeue for the renewal of its certificate."""
        owner = owner_reference(draft.object, controller=True, block_deletion=True)
        if kubeconfig:
            await self._kubeconfigs.keep(order.cluster, kubeconfig, owner)
            return DONE
        endpoint = _endpoint(draft.object) or order.endpoint
        if endpoint is None:
            return DONE
        server = f"https://{_host(endpoint.host)}:{endpoint.port}"
        renewal = await self._kubeconfigs.issue(
            order.cluster, server, owner, authority, algorithm=self._about.algorithm
        )
        if renewal is None:
            return DONE
        # A timer, because the end of a certificate is no event.
        after = max(renewal - self._runtime.clock(), timedelta(seconds=1))
        return requeue(after=after, because="the kubeconfig's certificate is to be renewed")

    def _report(
        self,
        draft: Draft[ControlPlaneLens],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        super()._report(draft, conditions, ready)
        legacy = self._about.for_v1beta1(conditions or (() if ready is None else (ready,)))
        types = [one.type for one in legacy]
        report_v1beta1(draft.object, legacy, types, self._runtime.clock(), counted=False)

    def _order(
        self, draft: Draft[ControlPlaneLens], owner: Key, cluster: Cluster | None
    ) -> ControlPlaneOrder[T]:
        lens, kind = draft.object, self._kind
        obj: Any = draft.before if isinstance(kind, Resource) else read(draft.before, kind)
        mine = owner_reference(lens, controller=True, block_deletion=True)
        return ControlPlaneOrder(
            key=lens.key,
            uid=lens.metadata.uid,
            object=obj,
            cluster=owner,
            owner=cluster,
            keys=ClusterKeys(self._keychain, owner, mine),
            version=_with_v(lens.spec.version),
            replicas=lens.spec.replicas,
            endpoint=_endpoint(lens) or endpoint_of(cluster),
            initialized=bool(lens.status.initialization.control_plane_initialized),
            reported={one.type: one for one in lens.status.conditions},
        )


def unavailable(because: str) -> Condition:
    """Return the condition for an unusable control plane."""
    return false(ConditionType.AVAILABLE, Reason.NOT_AVAILABLE, because)


def _endpoint(lens: ControlPlaneLens) -> Endpoint | None:
    found = lens.spec.control_plane_endpoint
    return Endpoint(found.host, found.port) if found.host else None


def _host(host: str) -> str:
    """Return the host as in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _with_v(version: str) -> str:
    return f"v{version}" if version[:1].isdigit() else version
