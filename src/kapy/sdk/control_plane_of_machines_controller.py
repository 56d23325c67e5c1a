"""The ControlPlane contract (v1beta2), kept for any provider whose control planes are Machines.

What all control planes have alike is in `kapy.sdk.control_plane_objects`. Besides:

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
from kapy.sdk.answers import ControlPlaneSeen, Released, Waiting
from kapy.sdk.control_plane import ControlPlaneOrder
from kapy.sdk.control_plane_choices import created, next_to_go, versions_of
from kapy.sdk.control_plane_desired import hook_of
from kapy.sdk.control_plane_kinds import ControlPlaneLens, MachineControlPlaneLens
from kapy.sdk.control_plane_maker import MachineMaker
from kapy.sdk.control_plane_objects import ControlPlaneObjects, unavailable
from kapy.sdk.control_plane_of_machines import MachineControlPlaneProvider, MachinesOrder
from kapy.sdk.control_plane_rest import Rest, Rests
from kapy.sdk.control_plane_watches import BY_CLUSTER

T = TypeVar("T")


class MixedManagement(KapyError):
    """There are control plane Machines that belong to somebody else."""


def add_control_plane_of_machines(
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
    reconciler = ControlPlanesOfMachines(runtime, kind, provider, finalizer, external)
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )
    noting = reconciler.rests.noting
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


class ControlPlanesOfMachines(ControlPlaneObjects[T], Generic[T]):
    """Reconciles control planes that are made of Machines."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: MachineControlPlaneProvider[T],
        finalizer: str,
        external: External,
    ) -> None:
        super().__init__(runtime, kind, provider, finalizer, MachineControlPlaneLens)
        self._provider = provider
        self._machines = runtime.cache.informer(Machine.RESOURCE)
        self._maker = MachineMaker(runtime, external, self._lens.RESOURCE)
        self.rests = Rests(runtime.clock)

    async def reconcile(self, key: Key) -> Result:
        """Bring one control plane forward, if something has happened since everything was done."""
        rest = self.rests.begin(key)
        if rest is not None and await self._is_seen_again(rest):
            return rest.left(self._runtime.clock())
        result = await super().reconcile(key)
        if self._objects.raw(key) is None:
            self.rests.forget(key)
        return result

    async def _is_seen_again(self, rest: Rest) -> bool:
        """Whether the provider answers what it answered. What it raises, it raises again where that
        is told."""
        try:
            said = await self._provider.observe(rest.order)
            machines = rest.order.machines
            outdated = any(self._provider.outdated(rest.order, one) for one in machines)
        except Exception:
            return False
        return said == rest.said and not outdated

    async def _running(self, draft: Draft[ControlPlaneLens], order: ControlPlaneOrder[T]) -> Result:
        plane = _plane(draft)
        drafts = self._take(plane, order.cluster)
        seen = await self._with_machines(order, drafts)
        assert order.owner is not None  # nothing runs without its Cluster
        template = await self._maker.template(plane, order.owner)
        if not order.initialized:
            await order.keys.ensure(*self._provider.certificates)
        result = await self._keep_kubeconfig(draft, order)
        for machine in seen.machines:
            await self._maker.keep(plane, seen, machine)
        said = await self._provider.observe(seen)
        if said.initialized:
            plane.status.initialization.control_plane_initialized = True
        outdated = await self._outdated(plane, seen)
        await self._tell_machines(drafts, outdated)
        waits = await self._step(plane, seen, said, template, outdated)
        self._count(draft, seen, outdated, "" if waits is None else waits.because)
        self._tell_availability(draft, said)
        result = result.earlier_of(self._at_rollout(plane))
        if waits is not None:
            result = result.earlier_of(requeue_if(after=waits.poll_after, because=waits.because))
        elif template is not None and not outdated and order.initialized:
            self.rests.settle(seen, said, result)
        return result.earlier_of(requeue_if(after=said.look_again, because=said.because))

    async def _release(
        self, draft: Draft[ControlPlaneLens], order: ControlPlaneOrder[T]
    ) -> Released | Waiting:
        plane = _plane(draft)
        drafts = self._take(plane, order.cluster)
        if not drafts:
            return await self._provider.release(await self._with_machines(order, drafts))
        for one in drafts:
            await self._drop_hook(plane, one.object)
            if not one.object.deleting:
                await self._delete(one.object)
        plane.status.replicas = len(drafts)
        names = shortened(sorted(one.object.metadata.name for one in drafts), 5)
        return Waiting(because=f"Waiting for Machines to be gone: {names}", poll_after=None)

    def _take(self, plane: MachineControlPlaneLens, cluster: Key) -> list[Draft[Machine]]:
        """Our Machines, by age. Raises MixedManagement."""
        client, strangers = self._runtime.client, []
        drafts: list[Draft[Machine]] = []
        for document in self._machines.indexed(BY_CLUSTER, str(cluster)):
            metadata = document["metadata"]
            if Label.CONTROL_PLANE not in (metadata.get("labels") or {}):
                continue
            owners = metadata.get("ownerReferences") or ()
            if any(one["uid"] == plane.metadata.uid for one in owners):
                drafts.append(Draft(client, Machine, document))
            else:
                strangers.append(metadata["name"])
        if strangers and not plane.deleting:
            raise MixedManagement(
                f"control plane Machines of this Cluster are not this {plane.RESOURCE.kind}'s:"
                f" {shortened(sorted(strangers), 3)}; delete them, or take their label"
                f" {Label.CONTROL_PLANE} away"
            )
        return sorted(drafts, key=lambda one: (created(one.object), one.object.metadata.name))

    async def _with_machines(
        self, order: ControlPlaneOrder[T], drafts: Sequence[Draft[Machine]]
    ) -> MachinesOrder[T]:
        configs = {}
        for machine in (one.object for one in drafts):
            config = await self._maker.config(machine)
            if config is not None:
                configs[machine.metadata.name] = config
        known = {one.name: getattr(order, one.name) for one in fields(order)}
        return MachinesOrder(**known, machines=[one.object for one in drafts], configs=configs)

    async def _outdated(
        self, plane: MachineControlPlaneLens, order: MachinesOrder[T]
    ) -> dict[str, list[str]]:
        """Why Machines have to be replaced, by name."""
        if not order.machines:
            return {}
        wanted = [await self._provider.bootstrap(order, first=first) for first in (False, True)]
        found = {}
        for machine in order.machines:
            now = self._runtime.clock()
            said = await self._maker.outdated(plane, order, machine, wanted, now)
            said += [one for one in (self._provider.outdated(order, machine),) if one]
            if said:
                found[machine.metadata.name] = said
        return found

    async def _step(
        self,
        plane: MachineControlPlaneLens,
        order: MachinesOrder[T],
        said: ControlPlaneSeen,
        template: Document | None,
        outdated: dict[str, list[str]],
    ) -> Waiting | None:
        """The next step towards the wanted Machines. Returns what it waits for."""
        machines, desired = order.machines, _desired(plane)
        if leaving := [one for one in machines if one.deleting]:
            return await self._see_off(plane, order, leaving)
        rolling = [one for one in machines if one.metadata.name in outdated]
        grows = len(machines) < desired + (1 if rolling and self._provider.surge else 0)
        if not grows and not rolling and len(machines) == desired:
            return None
        going = None
        if not grows:
            going = next_to_go(machines, rolling, [], _domains(order))
        if machines and (unstable := _unstable(order, said, going)):
            return Waiting(because=unstable, poll_after=None)
        if going is not None:
            await self._delete(going)
            return None
        if template is None:
            return Waiting(because=_absent(plane), poll_after=None)
        first = not machines and not order.initialized
        wanted = await self._provider.bootstrap(order, first=first)
        await self._maker.make(plane, order, template, wanted, list(outdated))
        return None

    async def _see_off(
        self, plane: MachineControlPlaneLens, order: MachinesOrder[T], leaving: Sequence[Machine]
    ) -> Waiting:
        """Let the Machine that goes first go; everything else waits for it."""
        for machine in leaving:
            if hook_of(plane) not in machine.metadata.annotations or not _waits_for_us(machine):
                continue
            answer = await self._provider.leave(order, machine)
            if isinstance(answer, Waiting):
                said = f"Machine {machine.metadata.name} cannot go yet: {answer.because}"
                return replace(answer, because=said)
            await self._drop_hook(plane, machine)
            break
        names = shortened(sorted(one.metadata.name for one in leaving), 3)
        return Waiting(because=f"waiting for Machines to be gone: {names}", poll_after=None)

    async def _drop_hook(self, plane: MachineControlPlaneLens, machine: Machine) -> None:
        hook = hook_of(plane)
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

    async def _tell_machines(
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

    def _count(
        self,
        draft: Draft[ControlPlaneLens],
        order: MachinesOrder[T],
        outdated: dict[str, list[str]],
        because: str,
    ) -> None:
        """Status and conditions, from the Machines that were there at the beginning."""
        plane, machines, now = _plane(draft), order.machines, self._runtime.clock()
        status, desired = plane.status, _desired(plane)
        status.selector = f"{Label.CLUSTER_NAME}={order.cluster.name},{Label.CONTROL_PLANE}"
        status.versions = versions_of(machines)
        if status.versions:
            status.version = status.versions[0].version
        status.replicas = len(machines)
        status.ready_replicas = _with(machines, ConditionType.READY)
        status.available_replicas = _with(machines, ConditionType.AVAILABLE)
        status.up_to_date_replicas = len(machines) - len(outdated)
        for condition in _progress(machines, desired, outdated, because):
            set_condition(draft.object, condition, now)

    def _tell_availability(self, draft: Draft[ControlPlaneLens], said: ControlPlaneSeen) -> None:
        ready = unavailable("Waiting for the control plane to be initialized")
        if draft.object.status.initialization.control_plane_initialized:
            ready = true(ConditionType.AVAILABLE, Reason.AVAILABLE)
        self._tell_more(draft, said.status)
        self._report(draft, said.conditions, ready)

    def _at_rollout(self, plane: MachineControlPlaneLens) -> Result:
        after = plane.spec.rollout.after
        if after is None or moment(after) <= self._runtime.clock():
            return DONE
        # A timer, because a moment in time is no event.
        left = moment(after) - self._runtime.clock()
        return requeue(after=left, because="Machines become outdated")


def _plane(draft: Draft[ControlPlaneLens]) -> MachineControlPlaneLens:
    assert isinstance(draft.object, MachineControlPlaneLens)
    return draft.object


def _desired(plane: MachineControlPlaneLens) -> int:
    return 1 if plane.spec.replicas is None else plane.spec.replicas


def _domains(order: MachinesOrder[Any]) -> list[str]:
    cluster = order.owner
    found = [] if cluster is None else cluster.status.failure_domains
    return [one.name for one in found if one.control_plane]


def _unstable(order: MachinesOrder[Any], said: ControlPlaneSeen, going: Machine | None) -> str:
    """Why no Machine may be made or deleted now; the one that goes does not count."""
    without = sorted(
        one.metadata.name
        for one in order.machines
        if one.status.node_ref is None and (going is None or one.key != going.key)
    )
    if without:
        return f"waiting for Machines to have Nodes: {shortened(without, 3)}"
    return said.unstable


def _absent(plane: MachineControlPlaneLens) -> str:
    reference = plane.spec.machine_template.spec.infrastructure_ref
    return (
        f"{reference.kind} {reference.name} does not exist: create it, or name another one in"
        " spec.machineTemplate.spec.infrastructureRef"
    )


def _waits_for_us(machine: Machine) -> bool:
    reason = reason_of(machine.status.conditions, ConditionType.DELETING)
    return reason == Reason.WAITING_FOR_PRE_TERMINATE_HOOK


def _with(machines: Sequence[Machine], type_: str) -> int:
    return sum(is_true(one.status.conditions, type_) for one in machines)


def _progress(
    machines: Sequence[Machine], desired: int, outdated: dict[str, list[str]], because: str
) -> list[Condition]:
    """What is going on, in the conditions that the Cluster sums up."""
    current, waits = len(machines), f" is blocked because:\n* {because}" if because else ""
    rolling = false(ConditionType.ROLLING_OUT, Reason.NOT_ROLLING_OUT)
    if outdated:
        lines = sorted({f"* {one}" for said in outdated.values() for one in said})
        message = "\n".join([f"Rolling out {len(outdated)} not up-to-date replicas", *lines])
        rolling = true(ConditionType.ROLLING_OUT, Reason.ROLLING_OUT, message)
    up = false(ConditionType.SCALING_UP, Reason.NOT_SCALING_UP)
    if current < desired:
        message = f"Scaling up from {current} to {desired} replicas{waits}"
        up = true(ConditionType.SCALING_UP, Reason.SCALING_UP, message)
    down = false(ConditionType.SCALING_DOWN, Reason.NOT_SCALING_DOWN)
    if current > desired:
        message = f"Scaling down from {current} to {desired} replicas{waits}"
        down = true(ConditionType.SCALING_DOWN, Reason.SCALING_DOWN, message)
    ready = true(ConditionType.MACHINES_READY, Reason.NO_REPLICAS)
    if machines:
        ready = aggregate(machines, ConditionType.READY, target=ConditionType.MACHINES_READY)
    return [rolling, up, down, ready]
