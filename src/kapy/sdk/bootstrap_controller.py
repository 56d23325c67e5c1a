"""The controller of boot data, for any provider (BootstrapConfig contract v1beta2).

Upstream's document: `providers/contracts/bootstrap-config.md`. In this order:

* An externally managed object, or one without a Machine or MachinePool, stays unchanged; in its
deletion only the finalizer is removed.
* A paused object is not reconciled, which the Paused condition reports.
* The provider is called when the cluster's infrastructure is provisioned. If one machine has to be
the first, the provider is called for one machine at a time until the control plane is initialized.
* The data are stored in a Secret that has the object's name, owner and label. The data of a Machine
are never overwritten.
* `status.dataSecretName` and `status.initialization.dataSecretCreated` are set, and never unset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_control_plane
from kapy.api.names import ConditionType, Reason
from kapy.conditions import false, is_true, set_condition, true
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.meta import owner_reference, read
from kapy.kube.names import Resource
from kapy.sdk.bootstrap import BootstrapContext, BootstrapProvider
from kapy.sdk.bootstrap_kinds import BootstrapConfigContractObject
from kapy.sdk.bootstrap_secrets import BootstrapSecrets
from kapy.sdk.bootstrap_watches import BootstrapWatches
from kapy.sdk.cluster_certificates import ClusterCertificates, ClusterKeys
from kapy.sdk.init_lock import InitLock
from kapy.sdk.ownership import (
    cached_owner,
    endpoint_of,
    is_externally_managed,
    labelled_cluster,
    machine_key,
    pool_key,
)
from kapy.sdk.provider_reconciler import ProviderReconciler, ProviderScope
from kapy.sdk.reports import ProviderMistake, failure_condition, report_v1beta1
from kapy.sdk.results import BootstrapData, Failed, Released, Unchanged, Waiting

T = TypeVar("T")

AVAILABLE: Final = true(ConditionType.DATA_SECRET_AVAILABLE, Reason.AVAILABLE)


def add_bootstrap(
    runtime: Runtime,
    kind: type[Any] | Resource,
    provider: BootstrapProvider[Any],
    *,
    finalizer: str = "",
    concurrency: int = 10,
) -> Controller:
    """Serve a kind of bootstrap configurations; returns its controller, for further watches.

    kind: the provider's Struct, or its Resource to be given documents. finalizer: a qualified name
    of the provider's own, where it has something to `release`. Raises ProviderMistake.
    """
    if not finalizer and type(provider).reconcile_delete is not BootstrapProvider.reconcile_delete:
        raise ProviderMistake(
            f"{type(provider).__name__} has a release, which is never asked without a finalizer:"
            " pass add_bootstrap a finalizer"
        )
    resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    reconciler = BootstrapConfigReconciler(runtime, kind, provider, finalizer)
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )
    BootstrapWatches(runtime, resource).attach(controller)
    return runtime.add(controller, runtime.cache.informer(resource))


Scope: TypeAlias = ProviderScope[BootstrapConfigContractObject, BootstrapContext[T]]


class BootstrapConfigReconciler(
    ProviderReconciler[BootstrapConfigContractObject, BootstrapContext[T]], Generic[T]
):
    """Reconciles the bootstrap configurations of one kind."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: BootstrapProvider[T],
        finalizer: str,
    ) -> None:
        super().__init__(runtime, kind, BootstrapConfigContractObject, finalizer)
        self._lock = InitLock.of(runtime) if provider.initialises else None
        self._provider = provider
        self._refreshes = type(provider).refresh is not BootstrapProvider.refresh
        self._machines = runtime.cache.informer(Machine)
        self._pools = runtime.cache.informer(MachinePool)
        self._certificates = ClusterCertificates.of(runtime)
        self._data = BootstrapSecrets(runtime)

    def _scope(self, draft: Draft[BootstrapConfigContractObject]) -> Scope[T] | None:
        if is_externally_managed(draft.object.metadata):
            return None
        context = self._context(draft)
        if not draft.object.deleting:
            if (context.machine is None and context.pool is None) or context.owner is None:
                return None  # core sets the owner reference, which changes the object
            if not self._provider.serves(draft.before):
                return None
        owned = machine_key(draft.object.metadata) or pool_key(draft.object.metadata)
        now = self._runtime.clock()
        return ProviderScope(draft, now, context, context.owner, owned=owned is not None)

    async def _call_delete(self, scope: Scope[T]) -> Released | Waiting:
        return await self._provider.reconcile_delete(scope.context)

    async def _reconcile_normal(self, scope: Scope[T]) -> Result:
        async with self._report_errors(scope.draft, "FailedBootstrapData"):
            return await self._ensure_data(scope)

    async def _ensure_data(self, scope: Scope[T]) -> Result:
        draft, context, cluster = scope.draft, scope.context, scope.cluster
        assert cluster is not None
        await self._data.keep_owned(draft.object)
        if self._is_failed(draft):
            return DONE
        if not cluster.status.initialization.infrastructure_provisioned:
            return self._wait_for_watched(draft, "Waiting for the Cluster's infrastructure")
        if self._lock is not None and _is_initialized(cluster):
            await self._lock.release(cluster)
        if self._has_data(draft, context):
            return await self._refresh_data(draft, context)
        if self._lock is not None and not _is_initialized(cluster):
            if context.machine is None or not context.control_plane:
                return self._wait_for_watched(
                    draft, "Waiting for the control plane to be initialized"
                )
            if not await self._lock.acquire(cluster, context.machine.metadata.name):
                return self._wait_for_watched(
                    draft, "Waiting for another machine to initialize first"
                )
            context = replace(context, first=True)
        return await self._create_data(draft, context)

    def _has_data(
        self, draft: Draft[BootstrapConfigContractObject], context: BootstrapContext[T]
    ) -> bool:
        """Return whether the data exist. A move or a restore may have lost the status."""
        status = draft.object.status
        if not status.initialization.data_secret_created and context.machine is not None:
            secret_name = context.machine.spec.bootstrap.data_secret_name
            if secret_name is not None:
                self._set_data_secret(draft, secret_name)
        return bool(status.initialization.data_secret_created)

    async def _create_data(
        self, draft: Draft[BootstrapConfigContractObject], context: BootstrapContext[T]
    ) -> Result:
        """Get the bootstrap data from the provider, store them in the Secret, and report it in the
        status. A first machine that cannot start keeps the lock: another first machine could create
        a second cluster.
        """
        data = await self._data.read(draft.object)
        if data is None:
            answer = await self._provider.data(context)
            if isinstance(answer, Waiting):
                return self._set_waiting(draft, answer, Reason.NOT_AVAILABLE)
            if isinstance(answer, Failed):
                return self._set_failed(draft, answer)
            data = answer
            await self._data.store(draft.object, context.cluster, data)
        self._set_data_secret(draft, draft.object.metadata.name)
        return self._set_available(draft, data)

    async def _refresh_data(
        self, draft: Draft[BootstrapConfigContractObject], context: BootstrapContext[T]
    ) -> Result:
        """Ask the provider whether the stored bootstrap data are still valid, and store a pool's
        new data.
        """
        if not self._refreshes or not _may_still_be_read(context):
            return self._set_available(draft, Unchanged())
        bootstrap_data = await self._data.read(draft.object)
        if bootstrap_data is None and context.pool is None:
            return self._set_available(draft, Unchanged())
        answer = await (
            self._provider.data(context)
            if bootstrap_data is None
            else self._provider.refresh(context, bootstrap_data)
        )
        if isinstance(answer, Failed):
            return self._set_failed(draft, answer)
        if isinstance(answer, Waiting):
            self._set_status_fields(draft, answer.status)
            self._set_available(draft, Unchanged(conditions=answer.conditions))
            return requeue_if(after=answer.requeue_after, because=answer.message)
        if isinstance(answer, BootstrapData) and not _is_same_data(answer, bootstrap_data):
            if context.pool is None:
                raise ProviderMistake(
                    "the boot data of a Machine must not change, it may have been read already:"
                    " answer Unchanged, or replace the Machine"
                )
            await self._data.store(draft.object, context.cluster, answer, renew=True)
        return self._set_available(draft, answer)

    def _set_data_secret(self, draft: Draft[BootstrapConfigContractObject], name: str) -> None:
        status = draft.object.status
        status.data_secret_name = status.data_secret_name or name
        status.initialization.data_secret_created = True

    def _set_available(
        self, draft: Draft[BootstrapConfigContractObject], answer: BootstrapData | Unchanged
    ) -> Result:
        self._set_status_fields(draft, answer.status)
        self._report(draft, (AVAILABLE, *answer.conditions), None)
        return requeue_if(after=answer.requeue_after, because=answer.requeue_reason)

    def _wait_for_watched(
        self, draft: Draft[BootstrapConfigContractObject], message: str
    ) -> Result:
        """Wait for an object that is watched, without a timer."""
        return self._set_waiting(draft, Waiting(message=message, requeue_after=None), "")

    def _report_failure(
        self, draft: Draft[BootstrapConfigContractObject], answer: Failed, reason: str
    ) -> None:
        missing = false(ConditionType.DATA_SECRET_AVAILABLE, reason, answer.message)
        self._report(draft, (missing, *answer.conditions), None)
        condition = false(self.summary_condition, reason, answer.message)
        set_condition(draft.object, condition, self._runtime.clock())

    def _set_waiting(
        self, draft: Draft[BootstrapConfigContractObject], answer: Waiting, reason: str
    ) -> Result:
        type_, because = ConditionType.DATA_SECRET_AVAILABLE, answer.message
        if draft.object.deleting:
            return super()._set_waiting(draft, answer, reason)
        self._set_status_fields(draft, answer.status)
        missing = false(type_, Reason.NOT_AVAILABLE, because)
        self._report(draft, (missing, *answer.conditions), None)
        return requeue_if(after=answer.requeue_after, because=because)

    def _report_error(self, draft: Draft[BootstrapConfigContractObject], error: Exception) -> None:
        status = draft.object.status
        if status.initialization.data_secret_created or draft.object.deleting:
            super()._report_error(draft, error)
            return
        condition = failure_condition(error, ConditionType.DATA_SECRET_AVAILABLE)
        if condition is not None:
            self._report(draft, (condition,), None)

    def _report(
        self,
        draft: Draft[BootstrapConfigContractObject],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        super()._report(draft, conditions, ready)
        legacy = self._provider.for_v1beta1(conditions)
        types = [condition.type for condition in conditions]
        report_v1beta1(draft.object, legacy, types, self._runtime.clock(), counted=False)

    def _context(self, draft: Draft[BootstrapConfigContractObject]) -> BootstrapContext[T]:
        contract, kind = draft.object, self._provider_kind
        machine, pool = self._machine(contract), self._pool(contract)
        owner = labelled_cluster(contract.metadata) or Key(contract.metadata.namespace, "")
        for item in (machine, pool):
            if item is not None:
                owner = Key(contract.metadata.namespace, item.spec.cluster_name)
        cluster = self._clusters.get(owner)
        obj: Any = draft.before if isinstance(kind, Resource) else read(draft.before, kind)
        return BootstrapContext(
            key=contract.key,
            uid=contract.metadata.uid,
            object=obj,
            cluster=owner,
            owner=cluster,
            machine=machine,
            pool=pool,
            keys=ClusterKeys(self._certificates, owner, owner_reference(contract)),
            version=_version(machine, pool),
            control_plane=machine is not None and is_control_plane(machine),
            endpoint=endpoint_of(cluster),
            last_conditions={condition.type: condition for condition in contract.status.conditions},
        )

    def _machine(self, obj: BootstrapConfigContractObject) -> Machine | None:
        return cached_owner(self._machines, obj.metadata, Machine)

    def _pool(self, obj: BootstrapConfigContractObject) -> MachinePool | None:
        return cached_owner(self._pools, obj.metadata, MachinePool)


def _version(machine: Machine | None, pool: MachinePool | None) -> str:
    if machine is not None:
        return machine.spec.version
    return "" if pool is None else pool.spec.template.spec.version


def _is_initialized(cluster: Cluster) -> bool:
    return is_true(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED)


def _may_still_be_read(context: BootstrapContext[Any]) -> bool:
    """Return whether a machine may still start with the data: always for a pool, for a Machine
    until it has its Node.
    """
    return context.machine is None or context.machine.status.node_ref is None


def _is_same_data(bootstrap_data: BootstrapData, other: BootstrapData | None) -> bool:
    return other is not None and (bootstrap_data.value, bootstrap_data.format) == (
        other.value,
        other.format,
    )
