"""The ControlPlane contract (v1beta2), kept for any provider whose control planes are Machines.

What all control planes have alike is in `kapy.sdk.control_plane_reconciler`. Besides:

* the Cluster owns the infrastructure template; the authorities are made before the first Machine,
  and never again;
* Machines have names that a retry computes again, the labels of a control plane and those of
  `spec.machineTemplate`, which change in place, and are spread over the failure domains;
* one thing at a time: no Machine is made or deleted while another one starts, is being deleted, or
  the provider says that the control plane is not stable;
* a Machine that goes waits for the provider before it is shut down;
* replicas, versions, `UpToDate` of every Machine, and the conditions by which the Cluster tells
  what is going on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Generic, TypeVar

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Label, Reason
from kapy.api.times import moment
from kapy.api.wording import shortened
from kapy.conditions import aggregate, false, is_true, reason_of, set_condition, true
from kapy.contract.external import External, owner_keys
from kapy.engine.cache import Change
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import Resource
from kapy.sdk.control_plane import ControlPlaneContext
from kapy.sdk.control_plane_desired import pre_terminate_hook
from kapy.sdk.control_plane_kinds import (
    ControlPlaneContractObject,
    MachineControlPlaneContractObject,
)
from kapy.sdk.control_plane_machine_factory import MachineFactory
from kapy.sdk.control_plane_machine_selection import creation_time, select_for_deletion, versions_of
from kapy.sdk.control_plane_reconciler import ControlPlaneReconciler, unavailable
from kapy.sdk.control_plane_steady_state import SteadyState, SteadyStateCache
from kapy.sdk.control_plane_watches import BY_CLUSTER
from kapy.sdk.machine_based_control_plane import (
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
)
from kapy.sdk.results import ControlPlaneObserved, Released, Waiting

T = TypeVar("T")


class MixedManagement(KapyError):
    """There are control plane Machines that belong to somebody else."""


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
    controller.watch(
        runtime.cache.informer(Machine.RESOURCE), noting(owners), debounce=AGGREGATE_DEBOUNCE
    )

    def of_external(change: Change) -> list[Key]:
        """A configuration or a machine's infrastructure, or a template that comes."""
        found = list(owners(change))
        if change.old is None and change.document["kind"].endswith("Template"):
            namespace = change.document["metadata"]["namespace"]
            found += [Key.of(one) for one in runtime.cache.informer(resource).list(namespace)]
        return found

    external.wake(controller, noting(of_external), gather=STATUS_DEBOUNCE)
    return runtime.add(controller, runtime.cache.informer(resource))


class MachineBasedControlPlaneReconciler(ControlPlaneReconciler[T], Generic[T]):
    """Reconciles control planes that are made of Machines."""

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
        self._machine_factory = MachineFactory(runtime, external, self._contract_type.RESOURCE)
        self.steady_states = SteadyStateCache(runtime.clock)

    async def reconcile(self, key: Key) -> Result:
        """Bring one control plane forward, if something has happened since everything was done."""
        state = self.steady_states.begin(key)
        if state is not None and await self._is_unchanged(state):
            return state.remaining(self._runtime.clock())
        result = await super().reconcile(key)
        if self._objects.raw(key) is None:
            self.steady_states.forget(key)
        return result

    async def _is_unchanged(self, state: SteadyState) -> bool:
        """Whether the provider answers what it answered. What it raises, it raises again where that
        is told."""
        try:
            said = await self._provider.observe(state.context)
            machines = state.context.machines
            outdated = any(self._provider.outdated_reason(state.context, one) for one in machines)
        except Exception:
            return False
        return said == state.observed and not outdated

    async def _reconcile_normal(
        self, draft: Draft[ControlPlaneContractObject], context: ControlPlaneContext[T]
    ) -> Result:
        plane = _plane(draft)
        drafts = self._own_machines(plane, context.cluster)
        seen = await self._add_machines(context, drafts)
        assert context.owner is not None  # nothing runs without its Cluster
        template = await self._machine_factory.template(plane, context.owner)
        if not context.initialized:
            await context.keys.ensure(*self._provider.certificates)
        result = await self._keep_kubeconfig(draft, context)
        for machine in seen.machines:
            await self._machine_factory.update(plane, seen, machine)
        said = await self._provider.observe(seen)
        if said.initialized:
            plane.status.initialization.control_plane_initialized = True
        outdated = await self._outdated_reasons(plane, seen)
        await self._set_up_to_date(drafts, outdated)
        waiting = await self._advance(plane, seen, said, template, outdated)
        self._set_machine_status(draft, seen, outdated, "" if waiting is None else waiting.message)
        self._set_available(draft, said)
        result = result.earlier_of(self._requeue_for_rollout(plane))
        if waiting is not None:
            result = result.earlier_of(
                requeue_if(after=waiting.requeue_after, because=waiting.message)
            )
        elif template is not None and not outdated and context.initialized:
            self.steady_states.store(seen, said, result)
        return result.earlier_of(requeue_if(after=said.requeue_after, because=said.requeue_reason))

    async def _call_delete(
        self, draft: Draft[ControlPlaneContractObject], context: ControlPlaneContext[T]
    ) -> Released | Waiting:
        plane = _plane(draft)
        drafts = self._own_machines(plane, context.cluster)
        if not drafts:
            return await self._provider.reconcile_delete(await self._add_machines(context, drafts))
        for one in drafts:
            await self._drop_hook(plane, one.object)
            if not one.object.deleting:
                await self._delete(one.object)
        plane.status.replicas = len(drafts)
        names = shortened(sorted(one.object.metadata.name for one in drafts), 5)
        return Waiting(message=f"Waiting for Machines to be gone: {names}", requeue_after=None)

    def _own_machines(
        self, plane: MachineControlPlaneContractObject, cluster: Key
    ) -> list[Draft[Machine]]:
        """Our Machines, by age. Raises MixedManagement."""
        client, foreign = self._runtime.client, []
        drafts: list[Draft[Machine]] = []
        for document in self._machines.indexed(BY_CLUSTER, str(cluster)):
            metadata = document["metadata"]
            if Label.CONTROL_PLANE not in (metadata.get("labels") or {}):
                continue
            owners = metadata.get("ownerReferences") or ()
            if any(one["uid"] == plane.metadata.uid for one in owners):
                drafts.append(Draft(client, Machine, document))
            else:
                foreign.append(metadata["name"])
        if foreign and not plane.deleting:
            raise MixedManagement(
                f"control plane Machines of this Cluster are not this {plane.RESOURCE.kind}'s:"
                f" {shortened(sorted(foreign), 3)}; delete them, or take their label"
                f" {Label.CONTROL_PLANE} away"
            )
        return sorted(drafts, key=lambda one: (creation_time(one.object), one.object.metadata.name))

    async def _add_machines(
        self, context: ControlPlaneContext[T], drafts: Sequence[Draft[Machine]]
    ) -> MachineControlPlaneContext[T]:
        configs = {}
        for machine in (one.object for one in drafts):
            config = await self._machine_factory.config(machine)
            if config is not None:
                configs[machine.metadata.name] = config
        known = {one.name: getattr(context, one.name) for one in fields(context)}
        return MachineControlPlaneContext(
            **known, machines=[one.object for one in drafts], configs=configs
        )

    async def _outdated_reasons(
        self, plane: MachineControlPlaneContractObject, context: MachineControlPlaneContext[T]
    ) -> dict[str, list[str]]:
        """Why Machines have to be replaced, by name."""
        if not context.machines:
            return {}
        wanted = [
            await self._provider.bootstrap_config(context, first=first) for first in (False, True)
        ]
        found = {}
        for machine in context.machines:
            now = self._runtime.clock()
            said = await self._machine_factory.outdated_reasons(
                plane, context, machine, wanted, now
            )
            said += [one for one in (self._provider.outdated_reason(context, machine),) if one]
            if said:
                found[machine.metadata.name] = said
        return found

    async def _advance(
        self,
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[T],
        said: ControlPlaneObserved,
        template: Document | None,
        outdated: dict[str, list[str]],
    ) -> Waiting | None:
        """The next step towards the wanted Machines. Returns what it waits for."""
        machines, desired = context.machines, _desired_replicas(plane)
        if leaving := [one for one in machines if one.deleting]:
            return await self._wait_for_deletion(plane, context, leaving)
        rolling = [one for one in machines if one.metadata.name in outdated]
        grows = len(machines) < desired + (1 if rolling and self._provider.surge else 0)
        if not grows and not rolling and len(machines) == desired:
            return None
        going = None
        if not grows:
            going = select_for_deletion(machines, rolling, [], _domains(context))
        if machines and (unstable := _blocking_reason(context, said, going)):
            return Waiting(message=unstable, requeue_after=None)
        if going is not None:
            await self._delete(going)
            return None
        if template is None:
            return Waiting(message=_describe_missing_template(plane), requeue_after=None)
        first = not machines and not context.initialized
        wanted = await self._provider.bootstrap_config(context, first=first)
        await self._machine_factory.create(plane, context, template, wanted, list(outdated))
        return None

    async def _wait_for_deletion(
        self,
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[T],
        leaving: Sequence[Machine],
    ) -> Waiting:
        """Let the Machine that goes first go; everything else waits for it."""
        for machine in leaving:
            if pre_terminate_hook(plane) not in machine.metadata.annotations or not _waits_for_hook(
                machine
            ):
                continue
            answer = await self._provider.prepare_shutdown(context, machine)
            if isinstance(answer, Waiting):
                said = f"Machine {machine.metadata.name} cannot go yet: {answer.message}"
                return replace(answer, message=said)
            await self._drop_hook(plane, machine)
            break
        names = shortened(sorted(one.metadata.name for one in leaving), 3)
        return Waiting(message=f"waiting for Machines to be gone: {names}", requeue_after=None)

    async def _drop_hook(self, plane: MachineControlPlaneContractObject, machine: Machine) -> None:
        hook = pre_terminate_hook(plane)
        if hook not in machine.metadata.annotations:
            return
        patch: Document = {"metadata": {"annotations": {hook: None}}}
        try:
            await self._runtime.client.patch(Machine.RESOURCE, machine.key, patch)
        except NotFound:
            return

    async def _delete(self, machine: Machine) -> None:
        try:
            await self._runtime.client.delete(
                Machine.RESOURCE, machine.key, uid=machine.metadata.uid
            )
        except NotFound:
            return

    async def _set_up_to_date(
        self, drafts: Sequence[Draft[Machine]], outdated: dict[str, list[str]]
    ) -> None:
        """Each Machine's UpToDate, which only its owner can tell."""
        for draft in drafts:
            said = outdated.get(draft.object.metadata.name)
            condition = true(ConditionType.UP_TO_DATE, Reason.UP_TO_DATE)
            if said:
                message = "\n".join(f"* {one}" for one in said)
                condition = false(ConditionType.UP_TO_DATE, Reason.NOT_UP_TO_DATE, message)
            set_condition(draft.object, condition, self._runtime.clock())
            await draft.save()

    def _set_machine_status(
        self,
        draft: Draft[ControlPlaneContractObject],
        context: MachineControlPlaneContext[T],
        outdated: dict[str, list[str]],
        blocked_by: str,
    ) -> None:
        """Status and conditions, from the Machines that were there at the beginning."""
        plane, machines, now = _plane(draft), context.machines, self._runtime.clock()
        status, desired = plane.status, _desired_replicas(plane)
        status.selector = f"{Label.CLUSTER_NAME}={context.cluster.name},{Label.CONTROL_PLANE}"
        status.versions = versions_of(machines)
        if status.versions:
            status.version = status.versions[0].version
        status.replicas = len(machines)
        status.ready_replicas = _count_true(machines, ConditionType.READY)
        status.available_replicas = _count_true(machines, ConditionType.AVAILABLE)
        status.up_to_date_replicas = len(machines) - len(outdated)
        for condition in _progress_conditions(machines, desired, outdated, blocked_by):
            set_condition(draft.object, condition, now)

    def _set_available(
        self, draft: Draft[ControlPlaneContractObject], said: ControlPlaneObserved
    ) -> None:
        ready = unavailable("Waiting for the control plane to be initialized")
        if draft.object.status.initialization.control_plane_initialized:
            ready = true(ConditionType.AVAILABLE, Reason.AVAILABLE)
        self._set_status_fields(draft, said.status)
        self._report(draft, said.conditions, ready)

    def _requeue_for_rollout(self, plane: MachineControlPlaneContractObject) -> Result:
        after = plane.spec.rollout.after
        if after is None or moment(after) <= self._runtime.clock():
            return DONE
        # A timer, because a moment in time is no event.
        left = moment(after) - self._runtime.clock()
        return requeue(after=left, because="Machines become outdated")


def _plane(draft: Draft[ControlPlaneContractObject]) -> MachineControlPlaneContractObject:
    assert isinstance(draft.object, MachineControlPlaneContractObject)
    return draft.object


def _desired_replicas(plane: MachineControlPlaneContractObject) -> int:
    return 1 if plane.spec.replicas is None else plane.spec.replicas


def _domains(context: MachineControlPlaneContext[Any]) -> list[str]:
    cluster = context.owner
    found = [] if cluster is None else cluster.status.failure_domains
    return [one.name for one in found if one.control_plane]


def _blocking_reason(
    context: MachineControlPlaneContext[Any], said: ControlPlaneObserved, going: Machine | None
) -> str:
    """Why no Machine may be made or deleted now; the one that goes does not count."""
    without = sorted(
        one.metadata.name
        for one in context.machines
        if one.status.node_ref is None and (going is None or one.key != going.key)
    )
    if without:
        return f"waiting for Machines to have Nodes: {shortened(without, 3)}"
    return said.unstable


def _describe_missing_template(plane: MachineControlPlaneContractObject) -> str:
    reference = plane.spec.machine_template.spec.infrastructure_ref
    return (
        f"{reference.kind} {reference.name} does not exist: create it, or name another one in"
        " spec.machineTemplate.spec.infrastructureRef"
    )


def _waits_for_hook(machine: Machine) -> bool:
    reason = reason_of(machine.status.conditions, ConditionType.DELETING)
    return reason == Reason.WAITING_FOR_PRE_TERMINATE_HOOK


def _count_true(machines: Sequence[Machine], type_: str) -> int:
    return sum(is_true(one.status.conditions, type_) for one in machines)


def _progress_conditions(
    machines: Sequence[Machine], desired: int, outdated: dict[str, list[str]], blocked_by: str
) -> list[Condition]:
    """What is going on, in the conditions that the Cluster sums up."""
    current, waiting = len(machines), f" is blocked because:\n* {blocked_by}" if blocked_by else ""
    rolling = false(ConditionType.ROLLING_OUT, Reason.NOT_ROLLING_OUT)
    if outdated:
        lines = sorted({f"* {one}" for said in outdated.values() for one in said})
        message = "\n".join([f"Rolling out {len(outdated)} not up-to-date replicas", *lines])
        rolling = true(ConditionType.ROLLING_OUT, Reason.ROLLING_OUT, message)
    up = false(ConditionType.SCALING_UP, Reason.NOT_SCALING_UP)
    if current < desired:
        message = f"Scaling up from {current} to {desired} replicas{waiting}"
        up = true(ConditionType.SCALING_UP, Reason.SCALING_UP, message)
    down = false(ConditionType.SCALING_DOWN, Reason.NOT_SCALING_DOWN)
    if current > desired:
        message = f"Scaling down from {current} to {desired} replicas{waiting}"
        down = true(ConditionType.SCALING_DOWN, Reason.SCALING_DOWN, message)
    ready = true(ConditionType.MACHINES_READY, Reason.NO_REPLICAS)
    if machines:
        ready = aggregate(machines, ConditionType.READY, target=ConditionType.MACHINES_READY)
    return [rolling, up, down, ready]
