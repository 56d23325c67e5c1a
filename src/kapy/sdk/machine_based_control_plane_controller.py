"""The controller of control planes of Machines, for any provider (contract v1beta2).

`kapy.sdk.control_plane_reconciler` has what is common to all control planes,
`kapy.sdk.control_plane_loop` the decisions. In addition:

* The Cluster owns the infrastructure template. The CAs are created before the first Machine.
* Machines have deterministic names, so that a retry creates no second Machine. They have the labels
of a control plane and those of `spec.machineTemplate`, which change in place, and are spread over
the failure domains.
* No Machine is created or deleted while another one starts or is being deleted, or while the
provider reports that the control plane is not stable.
* A Machine is shut down after the provider has prepared that.
* The status has replicas, versions and the conditions that the Cluster summarizes; each Machine has
UpToDate.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Label, Reason
from kapy.api.times import moment
from kapy.api.wording import shorten
from kapy.conditions import set_condition, true
from kapy.contract.external import External, owner_keys
from kapy.engine.cache import Change
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.kube.names import Resource
from kapy.sdk.control_plane import ControlPlaneContext
from kapy.sdk.control_plane_kinds import (
    ControlPlaneContractObject,
    MachineControlPlaneContractObject,
)
from kapy.sdk.control_plane_loop import control_plane_machines
from kapy.sdk.control_plane_reconciler import ControlPlaneReconciler, Scope, unavailable
from kapy.sdk.control_plane_rollout import creation_time
from kapy.sdk.control_plane_status import progress_conditions, set_machine_counters
from kapy.sdk.control_plane_steady_state import SteadyStateCache
from kapy.sdk.control_plane_watches import BY_CLUSTER, InfrastructureTemplates
from kapy.sdk.machine_based_control_plane import (
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
)
from kapy.sdk.machine_based_control_plane_loop import LoopDependencies, ProviderLoop
from kapy.sdk.results import ControlPlaneObserved, Released, Waiting

T = TypeVar("T")


class MixedManagement(KapyError):
    """Some control plane Machines of the cluster have another owner."""


def add_machine_based_control_plane(
    runtime: Runtime,
    kind: type[Any] | Resource,
    provider: MachineControlPlaneProvider[Any],
    *,
    finalizer: str,
    concurrency: int = 10,
) -> Controller:
    """Serve a kind of control planes of Machines; returns its controller, for further watches.

    kind: the provider's Struct, or its Resource to be given documents. finalizer: a qualified name
    of the provider's own.
    """
    resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    external = External(runtime.client, runtime.cache)
    reconciler = MachineBasedControlPlaneReconciler(runtime, kind, provider, finalizer, external)
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )
    noting = reconciler.steady_states.count_changes
    reconciler.watches.attach(controller, noting)
    owners = owner_keys(resource.group_kind)
    templates = InfrastructureTemplates(runtime.cache.informer(resource))
    controller.watch(
        runtime.cache.informer(Machine.RESOURCE), noting(owners), debounce=AGGREGATE_DEBOUNCE
    )

    def of_external(change: Change) -> list[Key]:
        """Map a bootstrap configuration, an infrastructure machine or a new template to control
        planes.
        """
        return [*owners(change), *templates(change)]

    external.wake(controller, noting(of_external), gather=STATUS_DEBOUNCE)
    return runtime.add(controller, runtime.cache.informer(resource))


LONGEST: Final = timedelta(minutes=10)
"""The longest time without a full reconcile, because not everything is watched: a user's own Secret
without the cluster's label, for example."""


class SteadyState(NamedTuple):
    """The record of a reconcile that found nothing to do. context: the provider's input. observed:
    the provider's observation. requeue: the next reconcile even without a change. since: the time
    of the reconcile.
    """

    context: MachineControlPlaneContext[Any]
    observed: ControlPlaneObserved
    requeue: Result
    since: datetime

    def remaining(self, now: datetime) -> Result:
        """Return the remaining time until the next reconcile."""
        request = requeue_if(
            after=self.observed.requeue_after, because=self.observed.requeue_reason
        )
        if self.requeue.after is None:
            return request
        after = self.since + self.requeue.after - now
        return requeue(after=after, because=self.requeue.reason).earlier_of(request)


class MachineBasedControlPlaneReconciler(ControlPlaneReconciler[T], Generic[T]):
    """Reconciles control planes that consist of Machines."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: MachineControlPlaneProvider[T],
        finalizer: str,
        external: External,
    ) -> None:
        super().__init__(runtime, kind, provider, finalizer, MachineControlPlaneContractObject)
        self._provider = provider
        self._machines = runtime.cache.informer(Machine.RESOURCE)
        self._dependencies = LoopDependencies(runtime, external, provider, self.kind.RESOURCE)
        self._counts_at_start: dict[Key, int] = {}
        self.steady_states = SteadyStateCache[SteadyState]()

    async def reconcile(self, key: Key) -> Result:
        """Reconcile one control plane, unless nothing has changed since a reconcile that found
        nothing to do.
        """
        states = self.steady_states
        self._counts_at_start[key] = states.count(key)
        state = states.get(key, self._runtime.clock())
        if state is not None and await self._is_unchanged(state):
            return state.remaining(self._runtime.clock())
        result = await super().reconcile(key)
        if self._informer.raw(key) is None:
            states.forget(key)
            self._counts_at_start.pop(key, None)
        return result

    async def _is_unchanged(self, state: SteadyState) -> bool:
        """Return whether the provider observes the same state as before. An error counts as a
        change: the full reconcile raises and reports it again.
        """
        try:
            observed = await self._provider.observe(state.context)
            machines = state.context.machines
            outdated = any(
                self._provider.outdated_reason(state.context, machine) for machine in machines
            )
        except Exception:
            return False
        return observed == state.observed and not outdated

    async def _reconcile_control_plane(self, scope: Scope[T]) -> Result:
        draft, context = scope.draft, scope.context
        plane = _plane(draft)
        loop = await self._loop(draft, context)
        await loop.run()
        findings = loop.found
        waiting, observed = findings.waiting, findings.observed
        blocked_by = "" if waiting is None else waiting.message
        self._set_machine_status(draft, context.cluster, loop, blocked_by)
        self._set_available(draft, observed)
        result = findings.requeue.earlier_of(self._requeue_for_rollout(plane))
        if waiting is not None:
            result = result.earlier_of(
                requeue_if(after=waiting.requeue_after, because=waiting.message)
            )
        elif findings.template is not None and not findings.outdated and context.initialized:
            now, count = self._runtime.clock(), self._counts_at_start[context.key]
            state = SteadyState(loop.context, observed, result, now)
            expires_at = now + min(LONGEST, result.after or LONGEST)
            self.steady_states.store(context.key, count, state, expires_at)
        request = requeue_if(after=observed.requeue_after, because=observed.requeue_reason)
        return result.earlier_of(request)

    async def _delete_control_plane(self, scope: Scope[T]) -> Released | Waiting:
        loop = await self._loop(scope.draft, scope.context)
        if not loop.machines:
            return await self._provider.reconcile_delete(loop.context)
        if errors := await loop.delete_all():
            raise errors[0]
        _plane(scope.draft).status.replicas = len(loop.machines)
        names = shorten(sorted(machine.metadata.name for machine in loop.machines), 5)
        return Waiting(message=f"Waiting for Machines to be gone: {names}", requeue_after=None)

    async def _loop(
        self, draft: Draft[ControlPlaneContractObject], context: ControlPlaneContext[T]
    ) -> ProviderLoop[T]:
        plane = _plane(draft)
        drafts = self._own_machines(plane, context.cluster)
        configs = {}
        for machine in (item.object for item in drafts):
            config = await self._dependencies.checks.config(machine)
            if config is not None:
                configs[machine.metadata.name] = config
        values = {field.name: getattr(context, field.name) for field in fields(context)}
        machines = [item.object for item in drafts]
        machine_context: MachineControlPlaneContext[T] = MachineControlPlaneContext(
            **values, machines=machines, configs=configs
        )
        keep_kubeconfig = partial(self._keep_kubeconfig, draft, context)
        return ProviderLoop(self._dependencies, plane, machine_context, drafts, keep_kubeconfig)

    def _own_machines(
        self, plane: MachineControlPlaneContractObject, cluster: Key
    ) -> list[Draft[Machine]]:
        """Return the control plane's Machines, by age. Raises MixedManagement."""
        machines = self._machines.list_by_index(BY_CLUSTER, str(cluster))
        results = control_plane_machines(machines, plane.metadata.uid)
        if results.foreign and not plane.deleting:
            names = sorted(item["metadata"]["name"] for item in results.foreign)
            raise MixedManagement(
                f"control plane Machines of this Cluster are not this {plane.RESOURCE.kind}'s:"
                f" {shorten(names, 3)}; delete them, or take their label"
                f" {Label.CONTROL_PLANE} away"
            )
        drafts = [Draft(self._runtime.client, Machine, item) for item in results.own]
        return sorted(
            drafts, key=lambda draft: (creation_time(draft.object), draft.object.metadata.name)
        )

    def _set_machine_status(
        self,
        draft: Draft[ControlPlaneContractObject],
        cluster: Key,
        loop: ProviderLoop[T],
        blocked_by: str,
    ) -> None:
        """Write counters and conditions for the Machines as they were at the beginning of the
        reconcile.
        """
        plane, machines, outdated = _plane(draft), loop.machines, loop.found.outdated
        up_to_date = len(machines) - len(outdated)
        set_machine_counters(plane.status, cluster.name, machines, up_to_date)
        desired = loop.desired_replicas
        for condition in progress_conditions(machines, desired, outdated, blocked_by):
            set_condition(draft.object, condition, self._runtime.clock())

    def _set_available(
        self, draft: Draft[ControlPlaneContractObject], plane_observed: ControlPlaneObserved
    ) -> None:
        ready = unavailable("Waiting for the control plane to be initialized")
        if draft.object.status.initialization.control_plane_initialized:
            ready = true(ConditionType.AVAILABLE, Reason.AVAILABLE)
        self._set_status_fields(draft, plane_observed.status)
        self._report(draft, plane_observed.conditions, ready)

    def _requeue_for_rollout(self, plane: MachineControlPlaneContractObject) -> Result:
        after = plane.spec.rollout.after
        if after is None or moment(after) <= self._runtime.clock():
            return DONE
        # A timer, because a moment in time is no event.
        remaining = moment(after) - self._runtime.clock()
        return requeue(after=remaining, because="Machines become outdated")


def _plane(draft: Draft[ControlPlaneContractObject]) -> MachineControlPlaneContractObject:
    assert isinstance(draft.object, MachineControlPlaneContractObject)
    return draft.object
