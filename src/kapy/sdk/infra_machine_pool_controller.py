"""The controller of machine pools, for any provider (InfraMachinePool contract v1beta2).

Upstream's document: `providers/contracts/infra-machinepool.md`. In this order:

* An object without a MachinePool stays unchanged; in its deletion only the finalizer is removed.
* The finalizer and the kind of the machines' objects are stored before the provider is called.
* A paused object is not reconciled, which the Paused condition reports.
* The provider is called when the cluster's infrastructure is provisioned and the boot data exist.
* `spec.providerIDList` and `status.replicas` are stored before `status.initialization.provisioned`
(and `status.ready`, which upstream's core reads), which is never unset.
* A deletion calls the provider, and then removes the finalizer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_externally_scaled
from kapy.api.names import ConditionType, Reason
from kapy.conditions import true
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, NotYet, Result, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.names import Resource
from kapy.kube.renamed import renamed_arguments
from kapy.sdk.bootstrap_secrets import BootstrapReader
from kapy.sdk.contract_objects import InfraMachinePoolContractObject
from kapy.sdk.credential_types import CredentialRefused
from kapy.sdk.credentials_of_tenants import TenantCredentials
from kapy.sdk.infra_machine_controller import blocking_reason, not_started
from kapy.sdk.infra_machine_pool import InfraMachinePoolProvider, MachinePoolContext
from kapy.sdk.infra_machine_watches import InfraMachineWatches
from kapy.sdk.infra_reconciler import ControllerOptions, InfraReconciler
from kapy.sdk.ownership import labelled_cluster, pool_key
from kapy.sdk.provider_reconciler import ProviderScope
from kapy.sdk.reports import ProviderMistake
from kapy.sdk.results import Failed, PoolProvisioned, Released, Waiting

T = TypeVar("T")


@renamed_arguments(makes="owns")
def add_infra_machine_pool(
    runtime: Runtime,
    kind: type[Any] | Resource,
    provider: InfraMachinePoolProvider[Any],
    *,
    finalizer: str,
    concurrency: int = 10,
    owns: Sequence[Resource] = (),
    credentials: TenantCredentials | None = None,
) -> Controller:
    """Serve a kind of machine pool; returns its controller, for further watches.

    kind: the provider's Struct, or its Resource to be given documents. finalizer: a qualified
    name of the provider's own. owns: kinds of objects that its objects
    own (`context.ensure_owned`).
    credentials: whose accounts it acts for (`context.credential`).
    """
    resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    bootstrap = BootstrapReader(runtime)
    reconciler = InfraMachinePoolReconciler(
        runtime, kind, provider, finalizer, bootstrap, ControllerOptions(owns, credentials)
    )
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )
    pools = MachinePool.RESOURCE
    watches = InfraMachineWatches(runtime, resource, bootstrap.secrets, pools)
    watches.attach(controller)
    reconciler.wake_owners(controller)
    if credentials is not None:
        credentials.enqueue_members(controller, watches.of_infra_cluster)
    return runtime.add(controller, runtime.cache.informer(resource))


Scope: TypeAlias = ProviderScope[InfraMachinePoolContractObject, MachinePoolContext[T]]


class InfraMachinePoolReconciler(
    InfraReconciler[InfraMachinePoolContractObject, MachinePoolContext[T]], Generic[T]
):
    """Reconciles the machine pools of one kind."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: InfraMachinePoolProvider[T],
        finalizer: str,
        bootstrap: BootstrapReader,
        options: ControllerOptions,
    ) -> None:
        super().__init__(runtime, kind, InfraMachinePoolContractObject, finalizer, options)
        self._provider = provider
        self._pools = runtime.cache.informer(MachinePool)
        self._bootstrap = bootstrap

    def _scope(self, draft: Draft[InfraMachinePoolContractObject]) -> Scope[T] | None:
        if not self._provider.serves(draft.before):
            return None
        owner = pool_key(draft.object.metadata)
        pool = None if owner is None else self._pools.get(owner)
        cluster = self._cluster(draft.object, pool)
        if (pool is None or cluster is None) and not draft.object.deleting:
            return None  # core sets the owner reference, which changes the object
        context = self._context(draft.before, pool, cluster)
        owned = owner is not None
        return ProviderScope(draft, self._runtime.clock(), context, cluster, owned=owned)

    async def _reconcile_normal(self, scope: Scope[T]) -> Result:
        draft, cluster, pool = scope.draft, scope.cluster, scope.context.pool
        assert pool is not None
        assert cluster is not None
        draft.object.status.infrastructure_machine_kind = self._provider.machine_kind
        if self._is_failed(draft):
            return DONE
        secret = pool.spec.template.spec.bootstrap.data_secret_name
        if reason := blocking_reason(cluster, has_data=secret is not None, worker=True):
            self._report(draft, (), not_started(reason))
            return DONE  # MachinePool, Cluster and Secret are watched
        try:
            key = Key(pool.metadata.namespace, secret or "")
            required = self._provider.needs_bootstrap_data
            results = await self._bootstrap.read(key, required=required)
        except NotYet:
            self._report(draft, (), not_started(Reason.WAITING_FOR_BOOTSTRAP_DATA))
            raise
        async with self._report_errors(draft, "FailedConverge"):
            answer = await self._call_provider(scope, results.data)
            if isinstance(answer, Waiting):
                return self._set_waiting(draft, answer, Reason.NOT_READY)
            if isinstance(answer, Failed):
                return self._set_failed(draft, answer)
            return await self._set_provisioned(draft, answer)

    async def _call_provider(
        self, scope: Scope[T], data: bytes
    ) -> PoolProvisioned | Failed | Waiting:
        try:
            credential = await self._credential(scope.draft, scope.cluster)
        except CredentialRefused as refusal:
            return refusal.result
        context = replace(scope.context, bootstrap_data=data, credential=credential)
        return await self._provider.reconcile_normal(context)

    async def _set_provisioned(
        self, draft: Draft[InfraMachinePoolContractObject], answer: PoolProvisioned
    ) -> Result:
        ids, spec = list(answer.provider_ids), draft.object.spec
        _check(ids)
        spec.provider_id, spec.provider_id_list = answer.provider_id or spec.provider_id, ids
        # The list of machines is saved first, so that a provisioned pool always has it.
        await draft.save_spec()
        status = draft.object.status
        status.replicas = len(ids) if answer.replicas is None else answer.replicas
        self._set_status_fields(draft, answer.status)
        status.instances = list(answer.instances)
        status.initialization.provisioned = status.ready = True
        self._report(draft, answer.conditions, true(ConditionType.READY, Reason.READY))
        return requeue_if(after=answer.requeue_after, because=answer.requeue_reason)

    async def _call_delete(self, scope: Scope[T]) -> Released | Waiting:
        try:
            credential = await self._credential(scope.draft, scope.cluster)
        except CredentialRefused as refusal:
            return refusal.result
        return await self._provider.reconcile_delete(replace(scope.context, credential=credential))

    def _context(
        self, document: Document, pool: MachinePool | None, cluster: Cluster | None
    ) -> MachinePoolContext[T]:
        key, kind, contract = Key.of(document), self._provider_kind, read(document, self.kind)
        obj: Any = document if isinstance(kind, Resource) else read(document, kind)
        owner = labelled_cluster(contract.metadata) or Key(key.namespace, "")
        context: MachinePoolContext[T] = MachinePoolContext(
            key=key,
            uid=document["metadata"]["uid"],
            object=obj,
            cluster=owner if cluster is None else cluster.key,
            pool=pool,
            provisioned=bool(contract.status.initialization.provisioned),
            last_conditions={condition.type: condition for condition in contract.status.conditions},
            owned=self._owned_objects(document, owner.name),
        )
        if pool is None:
            return replace(context, replicas=0)
        return replace(
            context,
            replicas=1 if pool.spec.replicas is None else pool.spec.replicas,
            scaled_by_others=is_externally_scaled(pool.metadata.annotations),
            version=pool.spec.template.spec.version,
            failure_domains=tuple(pool.spec.failure_domains),
        )

    def _cluster(
        self, obj: InfraMachinePoolContractObject, pool: MachinePool | None
    ) -> Cluster | None:
        key = labelled_cluster(obj.metadata)
        if pool is not None:
            key = Key(obj.metadata.namespace, pool.spec.cluster_name)
        return None if key is None else self._clusters.get(key)


def _check(ids: Sequence[str]) -> None:
    if "" in ids:
        raise ProviderMistake("provider IDs must not be empty; leave out machines without one")
    if twice := sorted(key for key, count in Counter(ids).items() if count > 1):
        raise ProviderMistake(f"each machine has a provider ID of its own; twice: {twice}")
