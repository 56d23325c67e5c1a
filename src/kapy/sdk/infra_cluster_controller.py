"""The controller of cluster infrastructure, for any provider (InfraCluster contract v1beta2).

Upstream's document: `providers/contracts/infra-cluster.md`. In this order:

* An externally managed object, or one without a Cluster, stays unchanged; in its deletion only the
finalizer is removed.
* The finalizer is stored before the provider is called.
* A paused object is not reconciled, which the Paused condition reports.
* A load balancer of the control plane is created first.
* `spec.controlPlaneEndpoint` is stored before `status.initialization.provisioned`; neither is ever
unset.
* A deletion calls the provider, and then removes the finalizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.embedded import APIEndpoint
from kapy.api.names import ConditionType, Reason
from kapy.conditions import true
from kapy.engine.cache import Change
from kapy.engine.controller import Controller, own_key
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.names import Resource
from kapy.kube.renamed import renamed_arguments
from kapy.sdk.changes import is_update
from kapy.sdk.contract_objects import InfraClusterContractObject
from kapy.sdk.credential_types import CredentialRefused
from kapy.sdk.credentials_of_tenants import TenantCredentials
from kapy.sdk.infra_cluster import ClusterContext, InfraClusterProvider
from kapy.sdk.infra_reconciler import ControllerOptions, InfraReconciler
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer
from kapy.sdk.ownership import cluster_key, is_externally_managed
from kapy.sdk.provider_reconciler import ProviderScope
from kapy.sdk.reports import report_v1beta1
from kapy.sdk.results import ClusterProvisioned, Endpoint, Failed, Released, Waiting

T = TypeVar("T")


@renamed_arguments(makes="owns")
def add_infra_cluster(
    runtime: Runtime,
    kind: type[Any] | Resource,
    provider: InfraClusterProvider[Any],
    *,
    finalizer: str,
    concurrency: int = 10,
    load_balancer: ControlPlaneLoadBalancer[Any] | None = None,
    owns: Sequence[Resource] = (),
    credentials: TenantCredentials | None = None,
) -> Controller:
    """Serve a kind of cluster infrastructure; return its controller, for further watches.

    kind: the provider's Struct, or its Resource to be given documents. finalizer: a qualified name
    of the provider's own. load_balancer: the provider's load balancer for control planes, if any.
    owns: the kinds of objects that its objects own (`context.ensure_owned`). credentials: the
    credentials of the tenants that it acts for (`context.credential`).
    """
    resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    reconciler = InfraClusterReconciler(
        runtime, kind, provider, finalizer, load_balancer, ControllerOptions(owns, credentials)
    )
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )

    def of_cluster(change: Change) -> Iterable[Key]:
        """Map a Cluster that was paused, resumed, created or deleted to its infrastructure, and one
        that got a reference to it.
        """
        if is_update(change, _relevant_fields):
            return ()
        reference = (change.document.get("spec") or {}).get("infrastructureRef") or {}
        if (reference.get("apiGroup"), reference.get("kind")) != (resource.group, resource.kind):
            return ()
        return (Key(change.document["metadata"]["namespace"], reference["name"]),)

    controller.watch(runtime.cache.informer(resource), own_key)
    controller.watch(runtime.cache.informer(Cluster.RESOURCE), of_cluster)
    reconciler.wake_owners(controller)
    if credentials is not None:
        credentials.enqueue_users(controller, lambda key: (key,))
    return runtime.add(controller, runtime.cache.informer(resource))


def _relevant_fields(cluster: Document) -> Any:
    """Return the fields of a Cluster that decide whether its infrastructure is reconciled."""
    spec = cluster.get("spec") or {}
    return spec.get("paused"), spec.get("infrastructureRef")


Scope: TypeAlias = ProviderScope[InfraClusterContractObject, ClusterContext[T]]


class InfraClusterReconciler(
    InfraReconciler[InfraClusterContractObject, ClusterContext[T]], Generic[T]
):
    """Reconciles the cluster infrastructure of one kind."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: InfraClusterProvider[T],
        finalizer: str,
        load_balancer: ControlPlaneLoadBalancer[T] | None,
        options: ControllerOptions,
    ) -> None:
        super().__init__(runtime, kind, InfraClusterContractObject, finalizer, options)
        self._provider = provider
        self._load_balancer = load_balancer

    def _scope(self, draft: Draft[InfraClusterContractObject]) -> Scope[T] | None:
        if not self._provider.serves(draft.before) or is_externally_managed(draft.object.metadata):
            return None
        owner = cluster_key(draft.object.metadata)
        cluster = None if owner is None else self._clusters.get(owner)
        if cluster is None and not draft.object.deleting:
            return None  # core sets the owner reference, which changes the object
        context = self._context(draft.before, owner or Key("", ""), cluster)
        owned = owner is not None
        return ProviderScope(draft, self._runtime.clock(), context, cluster, owned=owned)

    async def _reconcile_normal(self, scope: Scope[T]) -> Result:
        draft = scope.draft
        if self._is_failed(draft):
            return DONE
        async with self._report_errors(draft, "FailedConverge"):
            answer = await self._call_provider(scope)
            self._set_status_fields(draft, answer.status)
        if isinstance(answer, Waiting):
            return self._set_waiting(draft, answer, Reason.NOT_READY)
        if isinstance(answer, Failed):
            return self._set_failed(draft, answer)
        await self._set_provisioned(draft, answer)
        return DONE

    async def _call_provider(self, scope: Scope[T]) -> ClusterProvisioned | Failed | Waiting:
        try:
            credential = await self._credential(scope.draft, scope.cluster)
        except CredentialRefused as refusal:
            return refusal.result
        context = replace(scope.context, credential=credential)
        if self._load_balancer is None:
            return await self._provider.reconcile_normal(context)
        endpoint = await self._load_balancer.endpoint(context)
        if isinstance(endpoint, Waiting):
            return endpoint
        answer = await self._provider.reconcile_normal(replace(context, endpoint=endpoint))
        if not isinstance(answer, ClusterProvisioned) or answer.endpoint is not None:
            return answer
        return replace(answer, endpoint=endpoint)

    async def _set_provisioned(
        self, draft: Draft[InfraClusterContractObject], answer: ClusterProvisioned
    ) -> None:
        obj = draft.object
        if answer.endpoint is not None and not obj.spec.control_plane_endpoint.host:
            host, port = answer.endpoint
            obj.spec.control_plane_endpoint = APIEndpoint(host=host, port=port)
        obj.metadata.annotations.update(answer.annotations)
        # The endpoint precedes the status: a provisioned cluster always has one. This write also
        # increases the generation that the conditions refer to.
        await draft.save()
        status = draft.object.status
        status.initialization.provisioned = True
        status.failure_domains = list(answer.failure_domains)
        ready = true(ConditionType.READY, Reason.READY) if self._provider.reports_ready else None
        self._report(draft, answer.conditions, ready)

    def _report(
        self,
        draft: Draft[InfraClusterContractObject],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        super()._report(draft, conditions, ready)
        legacy = self._provider.for_v1beta1(conditions)
        types = [beta1_condition.type for beta1_condition in legacy]
        now, counted = self._runtime.clock(), not draft.object.deleting
        report_v1beta1(draft.object, legacy, types, now, counted=counted)

    async def _call_delete(self, scope: Scope[T]) -> Released | Waiting:
        draft = scope.draft
        try:
            credential = await self._credential(draft, scope.cluster)
        except CredentialRefused as refusal:
            return refusal.result
        context = replace(scope.context, credential=credential)
        answer = await self._provider.reconcile_delete(context)
        if isinstance(answer, Released) and self._credentials is not None:
            await self._credentials.release(draft.before)
        return answer

    def _context(
        self, document: Document, owner: Key, cluster: Cluster | None
    ) -> ClusterContext[T]:
        kind = self._provider_kind
        contract = read(document, self.kind)
        endpoint = contract.spec.control_plane_endpoint
        obj: Any = document if isinstance(kind, Resource) else read(document, kind)
        return ClusterContext(
            key=contract.key,
            uid=contract.metadata.uid,
            object=obj,
            cluster=owner,
            owner=cluster,
            endpoint=Endpoint(endpoint.host, endpoint.port) if endpoint.host else None,
            last_conditions={condition.type: condition for condition in contract.status.conditions},
            owned=self._owned_objects(document, owner.name),
        )
