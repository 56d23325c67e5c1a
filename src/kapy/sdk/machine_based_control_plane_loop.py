"""The strategy of the control plane loop for any provider: the provider's methods decide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

from kapy._aio.clock import Clock
from kapy.api.machine import Machine
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.api.wording import shorten
from kapy.conditions import false, set_condition, true
from kapy.contract.external import External
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.engine.cache import Informer
from kapy.engine.correlation import Lru
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import REMEMBERED
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.generated_names import generated_name
from kapy.kube.model import encode
from kapy.kube.names import SECRETS, Resource
from kapy.sdk.control_plane_desired import DesiredMachines
from kapy.sdk.control_plane_kinds import MachineControlPlaneContractObject
from kapy.sdk.control_plane_loop import MachineLoop, Step
from kapy.sdk.control_plane_machine_factory import MachineFactory, NewMachine, free_name
from kapy.sdk.control_plane_rollout import (
    RolloutChecks,
    failure_domains,
    next_failure_domain,
    select_for_deletion,
)
from kapy.sdk.machine_based_control_plane import (
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
)
from kapy.sdk.results import ControlPlaneObserved, Waiting

T = TypeVar("T")
NOTHING_OBSERVED: Final = ControlPlaneObserved(initialized=False)


class LoopDependencies(Generic[T]):
    """The dependencies of all reconciles of one kind of control plane."""

    def __init__(
        self,
        runtime: Runtime,
        external: External,
        provider: MachineControlPlaneProvider[T],
        resource: Resource,
    ) -> None:
        self.client = runtime.client
        self.clock: Clock = runtime.clock
        self.random = runtime.random
        self.external = external
        self.provider = provider
        self.factory = MachineFactory(runtime, external, resource)
        self.checks = RolloutChecks(runtime, external, self.factory.manager)
        self.machines: Informer[Document] = runtime.cache.informer(Machine.RESOURCE)
        # By uid of a Machine: the generation of the control plane and the versions of the Machine
        # and its objects that are known to be in sync.
        self.in_sync: Lru[tuple[object, ...]] = Lru(REMEMBERED)


@dataclass(slots=True)
class Findings:
    """The findings of a reconcile. template: the infrastructure template, None if it does not
    exist. observed: the provider's observation. outdated: the reasons for which Machines have to be
    replaced, by name. waiting: the object or state that the next step waits for. requeue: the time
    when the kubeconfig has to be renewed.
    """

    template: Document | None = None
    observed: ControlPlaneObserved = NOTHING_OBSERVED
    outdated: dict[str, list[str]] = field(default_factory=dict)
    waiting: Waiting | None = None
    requeue: Result = DONE


class ProviderLoop(MachineLoop, Generic[T]):
    """One reconcile of a provider's control plane. keep_kubeconfig: maintains its kubeconfig."""

    def __init__(
        self,
        dependencies: LoopDependencies[T],
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[T],
        drafts: Sequence[Draft[Machine]],
        keep_kubeconfig: Callable[[], Awaitable[Result]],
    ) -> None:
        hook = f"{Annotation.PRE_TERMINATE_HOOK_PREFIX}/{plane.RESOURCE.kind.lower()}"
        super().__init__(dependencies.client, hook)
        self.found = Findings()
        self._dependencies = dependencies
        self._provider = dependencies.provider
        self._plane = plane
        self._context = context
        self._drafts = drafts
        self._keep_kubeconfig = keep_kubeconfig
        template = plane.spec.machine_template
        gates = [encode(gate) for gate in template.spec.readiness_gates]
        self._desired = DesiredMachines(plane, template, context.cluster.name, hook, gates)

    @property
    def context(self) -> MachineControlPlaneContext[T]:
        """Return the provider's input."""
        return self._context

    @property
    def machines(self) -> Sequence[Machine]:
        return self._context.machines

    @property
    def outdated_machines(self) -> Sequence[Machine]:
        return [
            machine for machine in self.machines if machine.metadata.name in self.found.outdated
        ]

    @property
    def desired_replicas(self) -> int:
        replicas = self._plane.spec.replicas
        return 1 if replicas is None else replicas

    @property
    def max_surge(self) -> int:
        return 1 if self._provider.surge else 0

    def steps(self) -> Sequence[Step]:
        return (
            self.own_template,
            self.ensure_certificates,
            self.ensure_kubeconfig,
            self.update_machines,
            self.observe,
            self.release_deleting,
            self.scale,
        )

    async def own_template(self) -> Result | None:
        """Read the infrastructure template. Raises its read error."""
        assert self._context.owner is not None  # the context always has a Cluster
        reference = self._plane.spec.machine_template.spec.infrastructure_ref
        namespace = self._plane.metadata.namespace
        match await self._dependencies.factory.template(reference, namespace, self._context.owner):
            case Found(view):
                self.found.template = view.document
            case Absent():
                self.found.template = None
            case Unreadable(error):
                raise error
        return None

    async def ensure_certificates(self) -> Result | None:
        """Create the cluster's CAs before the first Machine."""
        if not self._context.initialized:
            await self._context.keys.ensure(*self._provider.certificates)
        return None

    async def ensure_kubeconfig(self) -> Result | None:
        """Create or renew the kubeconfig Secret of the cluster."""
        self.found.requeue = await self._keep_kubeconfig()
        return None

    async def update_machines(self) -> Result | None:
        """Propagate what may change in place to the Machines that stay."""
        for machine in self.machines:
            current = self._dependencies.machines.raw(machine.key)
            if current is None or machine.deleting:
                continue
            config = self._context.configs.get(machine.metadata.name)
            infra = await self._dependencies.checks.infra(machine)
            state = self._plane.metadata.generation, *map(_version, (current, config, infra))
            if self._dependencies.in_sync.get(machine.metadata.uid) == state:
                continue
            hook = {self._hook: ""} if self.has_hook(machine) else None
            wanted = self._desired.updated_machine(machine, hook)
            owned = [item for item in (config, infra) if item is not None]
            await self._dependencies.factory.update(self._desired, current, wanted, owned)
            self._dependencies.in_sync.put(machine.metadata.uid, state)
        return None

    async def observe(self) -> Result | None:
        """Call the provider's observation, and find the outdated Machines."""
        self.found.observed = await self._provider.observe(self._context)
        if self.found.observed.initialized:
            self._plane.status.initialization.control_plane_initialized = True
        self.found.outdated = await self._outdated_reasons()
        await self._set_up_to_date()
        return None

    async def release_deleting(self) -> Result | None:
        result = await super().release_deleting()
        if result is not None and self.found.waiting is None:
            names = sorted(machine.metadata.name for machine in self.machines if machine.deleting)
            self._wait(f"waiting for Machines to be gone: {shorten(names, 3)}")
        return result

    async def prepare_shutdown(self, machine: Machine) -> bool:
        answer = await self._provider.prepare_shutdown(self._context, machine)
        if isinstance(answer, Waiting):
            result = f"Machine {machine.metadata.name} cannot go yet: {answer.message}"
            self.found.waiting = replace(answer, message=result)
            return False
        return True

    def may_change(self, leaving: Machine | None) -> bool:
        without = sorted(
            machine.metadata.name
            for machine in self.machines
            if machine.status.node_ref is None and (leaving is None or machine.key != leaving.key)
        )
        reason = self.found.observed.unstable
        if without:
            reason = f"waiting for Machines to have Nodes: {shorten(without, 3)}"
        if self.machines and reason:
            self._wait(reason)
            return False
        return True

    def select_for_deletion(self) -> Machine | None:
        domains = failure_domains(self._context.owner)
        return select_for_deletion(self.machines, self.outdated_machines, [], domains)

    async def create_machine(self, *, first: bool) -> None:
        template, context, plane = self.found.template, self._context, self._plane
        if template is None:
            self._wait(_describe_missing_template(plane))
            return
        is_first = first and not context.initialized
        wanted = await self._provider.bootstrap_config(context, first=is_first)
        name = await self._free_name(wanted)

        async def read_template() -> Document:
            return template

        new = NewMachine(
            name=name,
            version=context.version,
            template=read_template,
            config=self._desired.config(name, wanted),
            failure_domain=self._failure_domain,
        )
        await self._dependencies.factory.create(self._desired, new)

    def _failure_domain(self) -> str:
        domains = failure_domains(self._context.owner)
        return next_failure_domain(
            domains, self.machines, self.outdated_machines, random=self._dependencies.random
        )

    async def _free_name(self, wanted: Document) -> str:
        """Return a name that depends on the generation and the existing Machines: both change with
        every step of a rollout or of scaling.
        """
        metadata = self._plane.metadata
        there = sorted(machine.metadata.uid for machine in self.machines)

        def name_of(attempt: int) -> str:
            slot = metadata.uid, metadata.generation, *there, attempt
            return generated_name(f"{metadata.name}-", *slot)

        async def is_taken(name: str) -> bool:
            return await self._is_taken(Key(metadata.namespace, name), wanted)

        return await free_name(name_of, is_taken)

    async def _is_taken(self, key: Key, wanted: Document) -> bool:
        """Return whether an object of that name exists that is not from an earlier attempt."""
        if self._dependencies.machines.raw(key) is not None:
            return True
        resource = await self._dependencies.external.resource_of(wanted)
        try:
            config = await self._client.get(resource, key)
        except NotFound:
            return await self._exists(SECRETS, key)  # boot data that is not garbage-collected yet
        metadata = config["metadata"]
        owners = metadata.get("ownerReferences") or ()
        is_ours = any(owner["uid"] == self._plane.metadata.uid for owner in owners)
        return "deletionTimestamp" in metadata or not is_ours

    async def _exists(self, resource: Resource, key: Key) -> bool:
        try:
            await self._client.get(resource, key)
        except NotFound:
            return False
        return True

    async def _outdated_reasons(self) -> dict[str, list[str]]:
        """Return why Machines have to be replaced, by name."""
        context, provider = self._context, self._provider
        if not self.machines:
            return {}
        wanted = [await provider.bootstrap_config(context, first=first) for first in (False, True)]
        result = {}
        for machine in self.machines:
            now = self._dependencies.clock()
            reasons = await self._dependencies.checks.outdated_reasons(
                self._plane, context, machine, wanted, now
            )
            reasons += [item for item in (provider.outdated_reason(context, machine),) if item]
            if reasons:
                result[machine.metadata.name] = reasons
        return result

    async def _set_up_to_date(self) -> None:
        """Write each Machine's UpToDate condition, which its owner has to report."""
        for draft in self._drafts:
            reasons = self.found.outdated.get(draft.object.metadata.name)
            condition = true(ConditionType.UP_TO_DATE, Reason.UP_TO_DATE)
            if reasons:
                message = "\n".join(f"* {reason}" for reason in reasons)
                condition = false(ConditionType.UP_TO_DATE, Reason.NOT_UP_TO_DATE, message)
            set_condition(draft.object, condition, self._dependencies.clock())
            await draft.save()

    def _wait(self, message: str) -> None:
        self.found.waiting = Waiting(message=message, requeue_after=None)


def _describe_missing_template(plane: MachineControlPlaneContractObject) -> str:
    reference = plane.spec.machine_template.spec.infrastructure_ref
    return (
        f"{reference.kind} {reference.name} does not exist: create it, or name another one in"
        " spec.machineTemplate.spec.infrastructureRef"
    )


def _version(document: Any) -> str:
    return "" if document is None else str(document["metadata"]["resourceVersion"])
