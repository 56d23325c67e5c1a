"""The InfraCluster contract (v1beta2), kept for any provider of cluster infrastructure.

Upstream's document: `providers/contracts/infra-cluster.md`. In the order in which it happens:

* an object that is managed from outside, or has no Cluster, is left alone (and let go, when it is
  to be deleted);
* the finalizer is stored before the provider is asked for anything;
* nothing happens while the Cluster or the object is paused, and Paused says so;
* a load balancer of the control plane comes first;
* `spec.controlPlaneEndpoint` is stored before `status.initialization.provisioned`; neither is
  ever taken back;
* deletion releases what there is, and then removes the finalizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.embedded import APIEndpoint
from kapy.api.names import ConditionType, Reason
from kapy.conditions import true
from kapy.conditions.paused import is_paused
from kapy.engine.cache import Change
from kapy.engine.controller import Controller, own_key
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.names import Resource
from kapy.sdk.answers import ClusterProvisioned, Endpoint, Failed, Released, Waiting
from kapy.sdk.credentials import Refused
from kapy.sdk.credentials_tenants import Tenants
from kapy.sdk.infra_cluster import ClusterOrder, InfraClusterProvider
from kapy.sdk.infra_objects import Extras, InfraObjects
from kapy.sdk.lens import InfraClusterLens
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer
from kapy.sdk.ownership import cluster_key, is_externally_managed
from kapy.sdk.readiness import report_v1beta1

T = TypeVar("T")


def add_infra_cluster(
    runtime: Runtime,
    kind: type[Any] | Resource,
    provider: InfraClusterProvider[Any],
    *,
    finalizer: str,
    concurrency: int = 10,
    load_balancer: ControlPlaneLoadBalancer[Any] | None = None,
    makes: Sequence[Resource] = (),
    credentials: Tenants | None = None,
) -> Controller:
    """Serve a kind of cluster infrastructure; returns its controller, for further watches.

    kind: the provider's Struct, or its Resource to be given documents. finalizer: a qualified
    name of the provider's own. load_balancer: of the control planes, if the provider has one.
    makes: kinds of objects that its objects make (`order.make`). credentials: whose accounts it
    acts for (`order.credential`).
    """
    resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    reconciler = InfraClusters(
        runtime, kind, provider, finalizer, load_balancer, Extras(makes, credentials)
    )
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )

    def of_cluster(change: Change) -> Iterable[Key]:
        """The infrastructure of a Cluster that was paused or resumed, came or went."""
        if change.old is not None and change.new is not None:
            was, now = change.old.get("spec") or {}, change.new.get("spec") or {}
            if was.get("paused") == now.get("paused"):
                return ()
        reference = (change.document.get("spec") or {}).get("infrastructureRef") or {}
        if (reference.get("apiGroup"), reference.get("kind")) != (resource.group, resource.kind):
            return ()
        return (Key(change.document["metadata"]["namespace"], reference["name"]),)

    controller.watch(runtime.cache.informer(resource), own_key)
    controller.watch(runtime.cache.informer(Cluster.RESOURCE), of_cluster)
    reconciler.wake_owners(controller)
    if credentials is not None:
        credentials.wake(controller, lambda key: (key,))
    return runtime.add(controller, runtime.cache.informer(resource))


class InfraClusters(InfraObjects[InfraClusterLens], Generic[T]):
    """Reconciles the cluster infrastructure of one kind."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: InfraClusterProvider[T],
        finalizer: str,
        load_balancer: ControlPlaneLoadBalancer[T] | None,
        extras: Extras,
    ) -> None:
        super().__init__(runtime, kind, InfraClusterLens, finalizer, extras)
        self._provider = provider
        self._load_balancer = load_balancer

    async def reconcile(self, key: Key) -> Result:
        """Move the infrastructure of one cluster on."""
        document = self._objects.raw(key)
        if document is None:
            return DONE
        if not self._provider.serves(document):
            return DONE
        draft = Draft(self._runtime.client, self._lens, document)
        if is_externally_managed(draft.object.metadata):
            return DONE
        owner = cluster_key(draft.object.metadata)
        cluster = None if owner is None else self._clusters.get(owner)
        if draft.object.deleting:
            return await self._deleting(draft, owner, cluster)
        if cluster is None:
            return DONE  # core sets the owner reference, which changes the object
        if (refused := await self._hold(draft, cluster)) is not None:
            return refused
        result = DONE
        if not is_paused(draft.object, cluster):
            result = await self._running(draft, cluster)
        await self._save(draft, cluster)
        return result

    async def _running(self, draft: Draft[InfraClusterLens], cluster: Cluster) -> Result:
        if self._is_failed(draft):
            return DONE
        async with self._asking(draft, cluster, "FailedConverge"):
            answer = await self._answer(draft, cluster)
            self._tell_more(draft, answer.status)
        if isinstance(answer, Waiting):
            return self._waiting(draft, answer, Reason.NOT_READY)
        if isinstance(answer, Failed):
            return self._fail(draft, answer)
        await self._provisioned(draft, answer)
        return DONE

    async def _answer(
        self, draft: Draft[InfraClusterLens], cluster: Cluster
    ) -> ClusterProvisioned | Failed | Waiting:
        try:
            credential = await self._credential(draft, cluster)
        except Refused as refusal:
            return refusal.answer
        order = replace(self._order(draft.before, cluster.key, cluster), credential=credential)
        if self._load_balancer is None:
            return await self._provider.converge(order)
        endpoint = await self._load_balancer.endpoint(order)
        if isinstance(endpoint, Waiting):
            return endpoint
        answer = await self._provider.converge(replace(order, endpoint=endpoint))
        if not isinstance(answer, ClusterProvisioned) or answer.endpoint is not None:
            return answer
        return replace(answer, endpoint=endpoint)

    async def _provisioned(
        self, draft: Draft[InfraClusterLens], answer: ClusterProvisioned
    ) -> None:
        obj = draft.object
        if answer.endpoint is not None and not obj.spec.control_plane_endpoint.host:
            host, port = answer.endpoint
            obj.spec.control_plane_endpoint = APIEndpoint(host=host, port=port)
        obj.metadata.annotations.update(answer.annotations)
        # The endpoint first: a cluster that is provisioned always has one. It also counts up the
        # generation that the conditions then have seen.
        await draft.save()
        status = draft.object.status
        status.initialization.provisioned = True
        status.failure_domains = list(answer.failure_domains)
        ready = true(ConditionType.READY, Reason.READY) if self._provider.reports_ready else None
        self._report(draft, answer.conditions, ready)

    def _report(
        self,
        draft: Draft[InfraClusterLens],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        super()._report(draft, conditions, ready)
        legacy = self._provider.for_v1beta1(conditions)
        types = [one.type for one in legacy]
        now, counted = self._runtime.clock(), not draft.object.deleting
        report_v1beta1(draft.object, legacy, types, now, counted=counted)

    async def _deleting(
        self, draft: Draft[InfraClusterLens], owner: Key | None, cluster: Cluster | None
    ) -> Result:
        release = None
        if owner is not None:
            release = partial(self._released, draft, owner, cluster)
        return await self._let_go(draft, cluster, release)

    async def _released(
        self, draft: Draft[InfraClusterLens], owner: Key, cluster: Cluster | None
    ) -> Released | Waiting:
        try:
            credential = await self._credential(draft, cluster)
        except Refused as refusal:
            return refusal.answer
        order = replace(self._order(draft.before, owner, cluster), credential=credential)
        answer = await self._provider.release(order)
        if isinstance(answer, Released) and self._tenants is not None:
            await self._tenants.let_go(draft.before)
        return answer

    def _order(self, document: Document, owner: Key, cluster: Cluster | None) -> ClusterOrder[T]:
        kind = self._kind
        lens = read(document, self._lens)
        endpoint = lens.spec.control_plane_endpoint
        obj: Any = document if isinstance(kind, Resource) else read(document, kind)
        return ClusterOrder(
            key=lens.key,
            uid=lens.metadata.uid,
            object=obj,
            cluster=owner,
            owner=cluster,
            endpoint=Endpoint(endpoint.host, endpoint.port) if endpoint.host else None,
            reported={one.type: one for one in lens.status.conditions},
            owned=self._owned(document, owner.name),
        )
