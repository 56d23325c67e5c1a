"""The controller of infrastructure machines, for any provider (InfraMachine contract v1beta2).

Upstream's document: `providers/contracts/infra-machine.md`. In this order:

* An object without a Machine stays unchanged; in its deletion only the finalizer is removed.
* The finalizer is stored before the provider is called.
* A paused object is not reconciled, which the Paused condition reports.
* The provider is called when the cluster's infrastructure is provisioned and the boot data exist.
* `spec.providerID` is stored before `status.initialization.provisioned`, which is never unset.
* Machines of the control plane are registered with a load balancer before they are provisioned,
drained while their Machine is being deleted, and deregistered before their deletion.
* An object that failed terminally stays unchanged until its deletion.
* An object that the provider does not serve stays unchanged, even in its deletion.
* A deletion calls the provider, and then removes the finalizer.

A machine of a MachinePool has a Machine, too. Its version and boot data are those of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.embedded import MachineAddress
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Label, Reason
from kapy.conditions import false, is_true, true
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, NotYet, Result, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.names import Resource
from kapy.kube.renamed import renamed_arguments
from kapy.sdk.bootstrap_secrets import BootstrapReader
from kapy.sdk.contract_objects import InfraMachineContractObject
from kapy.sdk.credential_types import CredentialRefused
from kapy.sdk.credentials_of_tenants import TenantCredentials
from kapy.sdk.infra_machine import InfraMachineProvider, MachineContext
from kapy.sdk.infra_machine_watches import InfraMachineWatches
from kapy.sdk.infra_reconciler import ControllerOptions, InfraReconciler
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer, Membership
from kapy.sdk.ownership import Pools, cached_owner, labelled_cluster, machine_key
from kapy.sdk.provider_reconciler import ProviderScope
from kapy.sdk.reports import ProviderMistake, report, report_v1beta1
from kapy.sdk.results import Failed, Provisioned, Released, Waiting

T = TypeVar("T")


@renamed_arguments(makes="owns")
def add_infra_machine(
    runtime: Runtime,
    kind: type[Any] | Resource,
    provider: InfraMachineProvider[Any],
    *,
    finalizer: str,
    concurrency: int = 10,
    load_balancer: ControlPlaneLoadBalancer[Any] | None = None,
    owns: Sequence[Resource] = (),
    credentials: TenantCredentials | None = None,
) -> Controller:
    """Serve a kind of infrastructure machine; return its controller, for further watches.

    kind: the provider's Struct, or its Resource to be given documents. finalizer: a qualified name
    of the provider's own. load_balancer: the provider's load balancer for control planes, if any.
    owns: the kinds of objects that its objects own (`context.ensure_owned`). credentials: the
    credentials of the tenants that it acts for (`context.credential`).
    """
    resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    bootstrap = BootstrapReader(runtime)
    members, options = Membership(load_balancer), ControllerOptions(owns, credentials)
    reconciler = InfraMachineReconciler(
        runtime, kind, provider, finalizer, bootstrap, members, options
    )
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )
    selects = type(provider).serves is not InfraMachineProvider.serves
    watches = InfraMachineWatches(
        runtime, resource, bootstrap.secrets, serves=provider.serves if selects else None
    )
    watches.attach(controller)
    reconciler.wake_owners(controller)
    if credentials is not None:
        credentials.enqueue_members(controller, watches.of_infra_cluster)
    return runtime.add(controller, runtime.cache.informer(resource))


Scope: TypeAlias = ProviderScope[InfraMachineContractObject, MachineContext[T]]


class InfraMachineReconciler(
    InfraReconciler[InfraMachineContractObject, MachineContext[T]], Generic[T]
):
    """Reconciles the infrastructure machines of one kind."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: InfraMachineProvider[T],
        finalizer: str,
        bootstrap: BootstrapReader,
        members: Membership,
        options: ControllerOptions,
    ) -> None:
        super().__init__(runtime, kind, InfraMachineContractObject, finalizer, options)
        self._provider = provider
        self._machines = runtime.cache.informer(Machine)
        self._bootstrap = bootstrap
        self._members = members
        self._pools = Pools(runtime)

    def _scope(self, draft: Draft[InfraMachineContractObject]) -> Scope[T] | None:
        if not self._provider.serves(draft.before):
            return None
        machine = self._machine(draft.object)
        cluster = self._cluster(draft.object, machine)
        if (machine is None or cluster is None) and not draft.object.deleting:
            return None  # core sets the owner reference, which changes the object
        context = self._context(draft.before, machine, cluster)
        owned = machine_key(draft.object.metadata) is not None
        return ProviderScope(draft, self._runtime.clock(), context, cluster, owned=owned)

    def _blocking_reason(self, machine: Machine, cluster: Cluster) -> str:
        """Return what the machine waits for before the provider is called; "" for nothing."""
        has_data = machine.spec.bootstrap.data_secret_name is not None
        worker = Label.CONTROL_PLANE not in machine.metadata.labels
        return blocking_reason(cluster, has_data=has_data, worker=worker)

    async def _reconcile_normal(self, scope: Scope[T]) -> Result:
        draft, context, machine = scope.draft, scope.context, scope.context.machine
        assert machine is not None
        assert scope.cluster is not None
        if self._is_failed(draft):
            return DONE
        if reason := self._blocking_reason(machine, scope.cluster):
            scope.blocked = True
            self._set_not_started(draft, context, reason)
            return DONE  # Machine, Cluster and Secret are watched
        try:
            context = await self._add_bootstrap_data(context, machine)
        except NotYet:
            self._set_not_started(draft, context, Reason.WAITING_FOR_BOOTSTRAP_DATA)
            raise
        async with self._report_errors(draft, "FailedConverge"):
            answer = await self._call_provider(scope, context)
            if isinstance(answer, Waiting):
                return self._set_waiting(draft, answer, Reason.NOT_READY)
            if isinstance(answer, Failed):
                return self._set_failed(draft, answer)
            return await self._set_provisioned(draft, context, answer)

    async def _call_provider(
        self, scope: Scope[T], context: MachineContext[T]
    ) -> Provisioned | Failed | Waiting:
        try:
            credential = await self._credential(scope.draft, scope.cluster)
        except CredentialRefused as refusal:
            return refusal.result
        return await self._provider.reconcile_normal(replace(context, credential=credential))

    async def _add_bootstrap_data(
        self, context: MachineContext[T], machine: Machine
    ) -> MachineContext[T]:
        """Return the context with version and boot data of the Machine, or of the pool that it
        belongs to. Raises NotYet.
        """
        pool, version = self._pools.of(machine), context.version
        bootstrap = machine.spec.bootstrap
        if pool is not None:
            bootstrap = pool.spec.template.spec.bootstrap
            version = version or pool.spec.template.spec.version
        secret = Key(machine.metadata.namespace, bootstrap.data_secret_name or "")
        required = self._provider.needs_bootstrap_data
        results = await self._bootstrap.read(secret, required=required)
        return replace(
            context, version=version, bootstrap_data=results.data, bootstrap_format=results.format
        )

    def _set_not_started(
        self, draft: Draft[InfraMachineContractObject], context: MachineContext[T], reason: str
    ) -> None:
        conditions = self._provider.before_start(context, reason)
        self._report(draft, conditions, not_started(reason))

    async def _set_provisioned(
        self,
        draft: Draft[InfraMachineContractObject],
        context: MachineContext[T],
        answer: Provisioned,
    ) -> Result:
        old = draft.object.spec.provider_id
        if old and old != answer.provider_id:
            raise ProviderMistake(
                f"the provider ID must not change: it is {old}, answered was {answer.provider_id}"
            )
        if not old:
            draft.object.spec.provider_id = answer.provider_id
            # The provider ID precedes the status: a provisioned machine always has one. This write
            # also increases the generation that the conditions refer to.
            await draft.save()
        waiting = await self._members.join(context, answer.provider_id, answer.addresses)
        if waiting is not None:
            return self._set_waiting(draft, waiting, Reason.NOT_READY)
        self._set_status_fields(draft, answer.status)
        draft.object.metadata.annotations.update(answer.annotations)
        status = draft.object.status
        status.initialization.provisioned = True
        status.failure_domain = answer.failure_domain
        status.addresses = [
            MachineAddress(type=address.type, address=address.address)
            for address in answer.addresses
        ]
        self._report(draft, answer.conditions, true(ConditionType.READY, Reason.READY))
        return requeue_if(after=answer.requeue_after, because=answer.requeue_reason)

    async def _call_delete(self, scope: Scope[T]) -> Released | Waiting:
        try:
            credential = await self._credential(scope.draft, scope.cluster)
        except CredentialRefused as refusal:
            return refusal.result
        context = replace(scope.context, credential=credential)
        waiting = await self._members.leave(context, scope.draft.object)
        return waiting or await self._provider.reconcile_delete(context)

    def _report(
        self,
        draft: Draft[InfraMachineContractObject],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        now, starting = self._runtime.clock(), not draft.object.spec.provider_id
        report(draft.object, conditions, ready, now)
        legacy = self._provider.for_v1beta1(conditions)
        types = [condition.type for condition in conditions]
        counted = starting and not draft.object.deleting
        report_v1beta1(draft.object, legacy, types, now, counted=counted)

    def _context(
        self, document: Document, machine: Machine | None, cluster: Cluster | None
    ) -> MachineContext[T]:
        metadata, key, kind = document["metadata"], Key.of(document), self._provider_kind
        labels = metadata.get("labels") or {}
        owner = Key(key.namespace, labels.get(Label.CLUSTER_NAME, ""))
        if machine is not None:
            labels = machine.metadata.labels
            owner = Key(key.namespace, machine.spec.cluster_name)
        obj: Any = document if isinstance(kind, Resource) else read(document, kind)
        return MachineContext(
            key=key,
            uid=metadata["uid"],
            object=obj,
            cluster=owner if cluster is None else cluster.key,
            machine=machine,
            control_plane=Label.CONTROL_PLANE in labels,
            version="" if machine is None else machine.spec.version,
            failure_domain="" if machine is None else machine.spec.failure_domain,
            last_conditions={
                condition.type: condition
                for condition in read(document, self.kind).status.conditions
            },
            owned=self._owned_objects(document, owner.name),
        )

    def _machine(self, obj: InfraMachineContractObject) -> Machine | None:
        return cached_owner(self._machines, obj.metadata, Machine)

    def _cluster(self, obj: InfraMachineContractObject, machine: Machine | None) -> Cluster | None:
        key = labelled_cluster(obj.metadata)
        if machine is not None:
            key = Key(obj.metadata.namespace, machine.spec.cluster_name)
        return None if key is None else self._clusters.get(key)


_NOT_STARTED: Final[Mapping[str, str]] = {
    Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY: "Waiting for the Cluster's infrastructure",
    Reason.WAITING_FOR_CONTROL_PLANE_INITIALIZED: "Waiting for the first control plane machine",
    Reason.WAITING_FOR_BOOTSTRAP_DATA: "Waiting for boot data",
}


def not_started(reason: str) -> Condition:
    """Return the Ready condition of machines that cannot be started yet."""
    return false(ConditionType.READY, reason, _NOT_STARTED[reason])


def blocking_reason(cluster: Cluster, *, has_data: bool, worker: bool) -> str:
    """Return why machines cannot be started yet, as a condition reason; "" if they can."""
    if not cluster.status.initialization.infrastructure_provisioned:
        return Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY
    if has_data:
        return ""
    conditions = cluster.status.conditions
    if worker and not is_true(conditions, ConditionType.CONTROL_PLANE_INITIALIZED):
        return Reason.WAITING_FOR_CONTROL_PLANE_INITIALIZED
    return Reason.WAITING_FOR_BOOTSTRAP_DATA
