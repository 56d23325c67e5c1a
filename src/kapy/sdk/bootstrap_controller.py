"""The BootstrapConfig contract (v1beta2), kept for any provider of boot data.

Upstream's document: `providers/contracts/bootstrap-config.md`. In the order in which it happens:

* an object that is managed from outside, or has no Machine or MachinePool, is left alone (and let
  go, when it is to be deleted);
* nothing happens while the Cluster or the object is paused, and Paused says so;
* the provider is asked only when the cluster's infrastructure is there, and, where one machine has
  to be the first, one machine at a time until the control plane is initialized;
* the data goes into a Secret that has the object's name, is owned by it and labelled; a Machine's
  is never written twice;
* `status.dataSecretName` and `status.initialization.dataSecretCreated` say that it is there, and
  are never taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_control_plane
from kapy.api.names import ConditionType, Reason
from kapy.conditions import false, is_true, set_condition, true
from kapy.conditions.paused import is_paused
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.meta import owner_reference, read
from kapy.kube.names import Resource
from kapy.sdk.answers import BootstrapData, Failed, Unchanged, Waiting
from kapy.sdk.bootstrap import BootstrapOrder, BootstrapProvider
from kapy.sdk.bootstrap_kinds import BootstrapConfigLens
from kapy.sdk.bootstrap_secrets import BootstrapSecrets
from kapy.sdk.bootstrap_watches import BootstrapWatches
from kapy.sdk.failures import ProviderMistake, failed
from kapy.sdk.init_lock import InitLock
from kapy.sdk.keychain import ClusterKeys, Keychain
from kapy.sdk.ownership import (
    endpoint_of,
    is_externally_managed,
    labelled_cluster,
    machine_key,
    pool_key,
)
from kapy.sdk.provider_objects import ProviderObjects
from kapy.sdk.readiness import report_v1beta1

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
    if not finalizer and type(provider).release is not BootstrapProvider.release:
        raise ProviderMistake(
            f"{type(provider).__name__} has a release, which is never asked without a finalizer:"
            " pass add_bootstrap a finalizer"
        )
    resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    reconciler = BootstrapConfigs(runtime, kind, provider, finalizer)
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )
    BootstrapWatches(runtime, resource).attach(controller)
    return runtime.add(controller, runtime.cache.informer(resource))


class BootstrapConfigs(ProviderObjects[BootstrapConfigLens], Generic[T]):
    """Reconciles the bootstrap configurations of one kind."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: BootstrapProvider[T],
        finalizer: str,
    ) -> None:
        super().__init__(runtime, kind, BootstrapConfigLens, finalizer)
        self._lock = InitLock.of(runtime) if provider.initialises else None
        self._provider = provider
        self._refreshes = type(provider).refresh is not BootstrapProvider.refresh
        self._machines = runtime.cache.informer(Machine)
        self._pools = runtime.cache.informer(MachinePool)
        self._keychain = Keychain.of(runtime)
        self._data = BootstrapSecrets(runtime)

    async def reconcile(self, key: Key) -> Result:
        """Bring one configuration forward."""
        document = self._objects.raw(key)
        if document is None:
            return DONE
        draft = Draft(self._runtime.client, self._lens, document)
        if is_externally_managed(draft.object.metadata):
            return DONE
        order = self._order(draft)
        if draft.object.deleting:
            owned = machine_key(draft.object.metadata) or pool_key(draft.object.metadata)
            release = partial(self._provider.release, order) if owned else None
            return await self._let_go(draft, order.owner, release)
        if order.machine is None and order.pool is None:
            return DONE  # core sets the owner reference, which changes the object
        cluster = order.owner
        if cluster is None or not self._provider.serves(document):
            return DONE
        if self._finalizer and self._finalizer not in draft.object.metadata.finalizers:
            draft.object.metadata.finalizers.append(self._finalizer)
            await draft.save()
        result = DONE
        if not is_paused(draft.object, cluster):
            async with self._asking(draft, cluster, "FailedBootstrapData"):
                result = await self._running(draft, order, cluster)
        await self._save(draft, cluster)
        return result

    async def _running(
        self, draft: Draft[BootstrapConfigLens], order: BootstrapOrder[T], cluster: Cluster
    ) -> Result:
        await self._data.keep_owned(draft.object)
        if self._is_failed(draft):
            return DONE
        if not cluster.status.initialization.infrastructure_provisioned:
            return self._not_yet(draft, "Waiting for the Cluster's infrastructure")
        if self._lock is not None and _is_initialized(cluster):
            await self._lock.release(cluster)
        if self._is_made(draft, order):
            return await self._made(draft, order)
        if self._lock is not None and not _is_initialized(cluster):
            if order.machine is None or not order.control_plane:
                return self._not_yet(draft, "Waiting for the control plane to be initialized")
            if not await self._lock.take(cluster, order.machine.metadata.name):
                return self._not_yet(draft, "Waiting for another machine to initialize first")
            order = replace(order, first=True)
        return await self._asked(draft, order)

    def _is_made(self, draft: Draft[BootstrapConfigLens], order: BootstrapOrder[T]) -> bool:
        """Whether there is data; a move or a restore may have lost what our status said of it."""
        status = draft.object.status
        if not status.initialization.data_secret_created and order.machine is not None:
            known = order.machine.spec.bootstrap.data_secret_name
            if known is not None:
                self._created(draft, known)
        return bool(status.initialization.data_secret_created)

    async def _asked(self, draft: Draft[BootstrapConfigLens], order: BootstrapOrder[T]) -> Result:
        """Have data for the first time. Who is to be the first and cannot stays it: what another
        one began meanwhile could be a second cluster."""
        data = await self._data.read(draft.object)
        if data is None:
            answer = await self._provider.data(order)
            if isinstance(answer, Waiting):
                return self._waiting(draft, answer, Reason.NOT_AVAILABLE)
            if isinstance(answer, Failed):
                return self._fail(draft, answer)
            data = answer
            await self._data.store(draft.object, order.cluster, data)
        self._created(draft, draft.object.metadata.name)
        return self._available(draft, data)

    async def _made(self, draft: Draft[BootstrapConfigLens], order: BootstrapOrder[T]) -> Result:
        """Look after data that there is already."""
        if not self._refreshes or not _may_be_used(order):
            return self._available(draft, Unchanged())
        made = await self._data.read(draft.object)
        if made is None and order.pool is None:
            return self._available(draft, Unchanged())
        answer = await (
            self._provider.data(order) if made is None else self._provider.refresh(order, made)
        )
        if isinstance(answer, Failed):
            return self._fail(draft, answer)
        if isinstance(answer, Waiting):
            self._tell_more(draft, answer.status)
            self._available(draft, Unchanged(conditions=answer.conditions))
            return requeue_if(after=answer.poll_after, because=answer.because)
        if isinstance(answer, BootstrapData) and not _same(answer, made):
            if order.pool is None:
                raise ProviderMistake(
                    "the boot data of a Machine must not change, it may have been read already:"
                    " answer Unchanged, or replace the Machine"
                )
            await self._data.store(draft.object, order.cluster, answer, renew=True)
        return self._available(draft, answer)

    def _created(self, draft: Draft[BootstrapConfigLens], name: str) -> None:
        status = draft.object.status
        status.data_secret_name = status.data_secret_name or name
        status.initialization.data_secret_created = True

    def _available(
        self, draft: Draft[BootstrapConfigLens], answer: BootstrapData | Unchanged
    ) -> Result:
        self._tell_more(draft, answer.status)
        self._report(draft, (AVAILABLE, *answer.conditions), None)
        return requeue_if(after=answer.look_again, because=answer.because)

    def _not_yet(self, draft: Draft[BootstrapConfigLens], because: str) -> Result:
        """What is waited for is watched."""
        return self._waiting(draft, Waiting(because=because, poll_after=None), "")

    def _report_failure(
        self, draft: Draft[BootstrapConfigLens], answer: Failed, reason: str
    ) -> None:
        missing = false(ConditionType.DATA_SECRET_AVAILABLE, reason, answer.message)
        self._report(draft, (missing, *answer.conditions), None)
        said = false(self.sums_up, reason, answer.message)
        set_condition(draft.object, said, self._runtime.clock())

    def _waiting(self, draft: Draft[BootstrapConfigLens], answer: Waiting, reason: str) -> Result:
        type_, because = ConditionType.DATA_SECRET_AVAILABLE, answer.because
        if draft.object.deleting:
            return super()._waiting(draft, answer, reason)
        self._tell_more(draft, answer.status)
        missing = false(type_, Reason.NOT_AVAILABLE, because)
        self._report(draft, (missing, *answer.conditions), None)
        return requeue_if(after=answer.poll_after, because=because)

    def _tell(self, draft: Draft[BootstrapConfigLens], error: Exception) -> bool:
        status = draft.object.status
        if status.initialization.data_secret_created or draft.object.deleting:
            return super()._tell(draft, error)
        said = failed(error, ConditionType.DATA_SECRET_AVAILABLE)
        if said is not None:
            self._report(draft, (said,), None)
        return said is not None

    def _report(
        self,
        draft: Draft[BootstrapConfigLens],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        super()._report(draft, conditions, ready)
        legacy = self._provider.for_v1beta1(conditions)
        types = [one.type for one in conditions]
        report_v1beta1(draft.object, legacy, types, self._runtime.clock(), counted=False)

    def _order(self, draft: Draft[BootstrapConfigLens]) -> BootstrapOrder[T]:
        lens, kind = draft.object, self._kind
        machine, pool = self._machine(lens), self._pool(lens)
        owner = labelled_cluster(lens.metadata) or Key(lens.metadata.namespace, "")
        for one in (machine, pool):
            if one is not None:
                owner = Key(lens.metadata.namespace, one.spec.cluster_name)
        cluster = self._clusters.get(owner)
        obj: Any = draft.before if isinstance(kind, Resource) else read(draft.before, kind)
        return BootstrapOrder(
            key=lens.key,
            uid=lens.metadata.uid,
            object=obj,
            cluster=owner,
            owner=cluster,
            machine=machine,
            pool=pool,
            keys=ClusterKeys(self._keychain, owner, owner_reference(lens)),
            version=_version(machine, pool),
            control_plane=machine is not None and is_control_plane(machine),
            endpoint=endpoint_of(cluster),
            reported={one.type: one for one in lens.status.conditions},
        )

    def _machine(self, obj: BootstrapConfigLens) -> Machine | None:
        key = machine_key(obj.metadata)
        return None if key is None else self._machines.get(key)

    def _pool(self, obj: BootstrapConfigLens) -> MachinePool | None:
        key = pool_key(obj.metadata)
        return None if key is None else self._pools.get(key)


def _version(machine: Machine | None, pool: MachinePool | None) -> str:
    if machine is not None:
        return machine.spec.version
    return "" if pool is None else pool.spec.template.spec.version


def _is_initialized(cluster: Cluster) -> bool:
    return is_true(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED)


def _may_be_used(order: BootstrapOrder[Any]) -> bool:
    """Whether a machine may still start with the data: a pool's any time, a Machine's until it
    has its Node."""
    return order.machine is None or order.machine.status.node_ref is None


def _same(one: BootstrapData, other: BootstrapData | None) -> bool:
    return other is not None and (one.value, one.format) == (other.value, other.format)
