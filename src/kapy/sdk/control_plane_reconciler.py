"""The steps that are the same for all control planes (ControlPlane contract v1beta2).

Upstream's document: `providers/contracts/control-plane.md`. In this order:

* An externally managed object, or one without a Cluster, stays unchanged; in its deletion only the
finalizer is removed.
* The finalizer is stored before the provider is called.
* A paused object is not reconciled, which the Paused condition reports.
* The control plane waits for the cluster's infrastructure, and for the Cluster's endpoint if it
provides none, depending on its provider.
* The endpoint and the kubeconfig Secret are stored before
`status.initialization.controlPlaneInitialized`, which is never unset.
* A deletion waits for the cluster's workers, calls the provider, and then removes the finalizer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.embedded import APIEndpoint
from kapy.api.names import ConditionType, Reason
from kapy.api.wording import shorten
from kapy.conditions import false
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.digits import has_only_digits
from kapy.kube.meta import owner_reference, read
from kapy.kube.names import Resource
from kapy.kube.pki import KeyPair
from kapy.sdk.cluster_certificates import ClusterCertificates, ClusterKeys
from kapy.sdk.control_plane import AnyControlPlaneProvider, ControlPlaneContext
from kapy.sdk.control_plane_kinds import ControlPlaneContractObject
from kapy.sdk.control_plane_watches import ControlPlaneWatches
from kapy.sdk.kubeconfigs import Kubeconfigs
from kapy.sdk.ownership import cluster_key, endpoint_of, is_externally_managed
from kapy.sdk.provider_reconciler import ProviderReconciler, ProviderScope
from kapy.sdk.reports import report_v1beta1
from kapy.sdk.results import Endpoint, Released, Waiting

T = TypeVar("T")


Scope: TypeAlias = ProviderScope[ControlPlaneContractObject, ControlPlaneContext[T]]


class ControlPlaneReconciler(
    ProviderReconciler[ControlPlaneContractObject, ControlPlaneContext[T]], Generic[T]
):
    """Reconciles the control planes of one kind."""

    summary_condition: ClassVar[str] = ConditionType.AVAILABLE

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: AnyControlPlaneProvider[T],
        finalizer: str,
        contract: type[ControlPlaneContractObject] = ControlPlaneContractObject,
    ) -> None:
        super().__init__(runtime, kind, contract, finalizer)
        self._settings = provider
        self._certificates = ClusterCertificates.of(runtime)
        self._kubeconfigs = Kubeconfigs(runtime, self._certificates)
        self.watches = ControlPlaneWatches(runtime, self.kind.RESOURCE)

    @abstractmethod
    async def _reconcile_control_plane(self, scope: Scope[T]) -> Result:
        """Reconcile a control plane whose preconditions are met."""

    @abstractmethod
    async def _delete_control_plane(self, scope: Scope[T]) -> Released | Waiting:
        """Delete a control plane whose workers are gone."""

    def _scope(self, draft: Draft[ControlPlaneContractObject]) -> Scope[T] | None:
        if is_externally_managed(draft.object.metadata):
            return None
        owner = cluster_key(draft.object.metadata)
        cluster = None if owner is None else self._clusters.get(owner)
        serves = draft.object.deleting or self._settings.serves(draft.before)
        if not serves or (cluster is None and not draft.object.deleting):
            return None  # core sets the owner reference, which changes the object
        context = self._context(draft, owner or Key("", ""), cluster)
        owned = owner is not None
        return ProviderScope(draft, self._runtime.clock(), context, cluster, owned=owned)

    async def _reconcile_normal(self, scope: Scope[T]) -> Result:
        draft, cluster = scope.draft, scope.cluster
        assert cluster is not None
        if self._is_failed(draft):
            return DONE
        infrastructure = cluster.status.initialization.infrastructure_provisioned
        if self._settings.needs_infrastructure and not infrastructure:
            return self._wait_for_watched(draft, "Waiting for the Cluster's infrastructure")
        if not self._settings.provides_endpoint and scope.context.endpoint is None:
            return self._wait_for_watched(
                draft, "Waiting for Cluster spec.controlPlaneEndpoint to be set"
            )
        async with self._report_errors(draft, "FailedConverge"):
            return await self._reconcile_control_plane(scope)

    def _wait_for_watched(self, draft: Draft[ControlPlaneContractObject], message: str) -> Result:
        """Wait for an object that is watched, without a timer."""
        answer = Waiting(message=message, requeue_after=None)
        return self._set_waiting(draft, answer, Reason.NOT_AVAILABLE)

    async def _call_delete(self, scope: Scope[T]) -> Released | Waiting:
        if workers := self.watches.workers(scope.context.cluster):
            names = shorten(workers, 5)
            return Waiting(message=f"Waiting for workers to be gone: {names}", requeue_after=None)
        return await self._delete_control_plane(scope)

    async def _set_endpoint(
        self, draft: Draft[ControlPlaneContractObject], endpoint: Endpoint | None
    ) -> None:
        """Store the endpoint before reporting that the control plane is initialized."""
        spec = draft.object.spec
        if endpoint is not None and not spec.control_plane_endpoint.host:
            spec.control_plane_endpoint = APIEndpoint(host=endpoint.host, port=endpoint.port)
        # The write also increases the generation that the conditions refer to.
        await draft.save_spec()

    async def _keep_kubeconfig(
        self,
        draft: Draft[ControlPlaneContractObject],
        context: ControlPlaneContext[T],
        *,
        kubeconfig: bytes = b"",
        authority: KeyPair | None = None,
    ) -> Result:
        """Maintain the kubeconfig Secret; requeue for the renewal of its certificate."""
        owner = owner_reference(draft.object, controller=True, block_deletion=True)
        if kubeconfig:
            await self._kubeconfigs.keep(context.cluster, kubeconfig, owner)
            return DONE
        endpoint = _endpoint(draft.object) or context.endpoint
        if endpoint is None:
            return DONE
        server = f"https://{_host(endpoint.host)}:{endpoint.port}"
        renewal = await self._kubeconfigs.issue(
            context.cluster, server, owner, authority, algorithm=self._settings.algorithm
        )
        if renewal is None:
            return DONE
        # A timer, because the end of a certificate is no event.
        after = max(renewal - self._runtime.clock(), timedelta(seconds=1))
        return requeue(after=after, because="the kubeconfig's certificate is to be renewed")

    def _report(
        self,
        draft: Draft[ControlPlaneContractObject],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        super()._report(draft, conditions, ready)
        legacy = self._settings.for_v1beta1(conditions or (() if ready is None else (ready,)))
        types = [beta1_condition.type for beta1_condition in legacy]
        report_v1beta1(draft.object, legacy, types, self._runtime.clock(), counted=False)

    def _context(
        self, draft: Draft[ControlPlaneContractObject], owner: Key, cluster: Cluster | None
    ) -> ControlPlaneContext[T]:
        contract, kind = draft.object, self._provider_kind
        obj: Any = draft.before if isinstance(kind, Resource) else read(draft.before, kind)
        mine = owner_reference(contract, controller=True, block_deletion=True)
        return ControlPlaneContext(
            key=contract.key,
            uid=contract.metadata.uid,
            object=obj,
            cluster=owner,
            owner=cluster,
            keys=ClusterKeys(self._certificates, owner, mine),
            version=_with_v(contract.spec.version),
            replicas=contract.spec.replicas,
            endpoint=_endpoint(contract) or endpoint_of(cluster),
            initialized=bool(contract.status.initialization.control_plane_initialized),
            last_conditions={condition.type: condition for condition in contract.status.conditions},
        )


def unavailable(message: str) -> Condition:
    """Return the condition for an unusable control plane."""
    return false(ConditionType.AVAILABLE, Reason.NOT_AVAILABLE, message)


def _endpoint(contract: ControlPlaneContractObject) -> Endpoint | None:
    endpoint = contract.spec.control_plane_endpoint
    return Endpoint(endpoint.host, endpoint.port) if endpoint.host else None


def _host(host: str) -> str:
    """Return the host as in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _with_v(version: str) -> str:
    return f"v{version}" if has_only_digits(version[:1]) else version
