"""The reconcile loop of control planes that consist of Machines.

`MachineLoop` decides: it runs the steps of one reconcile in order, adds, replaces and removes one
Machine at a time, and lets a Machine in deletion go. A subclass is the strategy of one kind of
control plane: it knows how a Machine is created, when it is safe to add or remove one, and what has
to happen before a Machine is shut down. The SDK has one for any provider
(`kapy.sdk.machine_based_control_plane_loop`); the kubeadm provider has its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Label, Reason
from kapy.client.client import Client
from kapy.conditions import is_true, reason_of
from kapy.engine.result import DONE, Result
from kapy.kube import Document
from kapy.kube.errors import KapyError, NotFound

Step: TypeAlias = Callable[[], Awaitable[Result | None]]
"""One step of a reconcile. None continues with the next step; a Result ends the reconcile."""


class MachineLoop(ABC):
    """One reconcile of a control plane that consists of Machines. client: a client of the
    management cluster. hook: the annotation that delays a Machine's shutdown until the control
    plane agrees.
    """

    def __init__(self, client: Client, hook: str) -> None:
        self._client = client
        self._hook = hook

    @property
    @abstractmethod
    def machines(self) -> Sequence[Machine]:
        """Return the Machines of the control plane, including those in deletion."""

    @property
    @abstractmethod
    def outdated_machines(self) -> Sequence[Machine]:
        """Return the Machines that have to be replaced, without those in deletion."""

    @property
    @abstractmethod
    def desired_replicas(self) -> int:
        """Return the desired number of Machines."""

    @property
    @abstractmethod
    def max_surge(self) -> int:
        """Return how many Machines more than desired may exist in a rollout."""

    @abstractmethod
    def steps(self) -> Sequence[Step]:
        """Return the steps of a reconcile in their order."""

    @abstractmethod
    def may_change(self, leaving: Machine | None) -> bool:
        """Return whether it is safe to add a Machine, or to remove the `leaving` one."""

    @abstractmethod
    def select_for_deletion(self) -> Machine | None:
        """Return the Machine that is deleted next."""

    @abstractmethod
    async def create_machine(self, *, first: bool) -> None:
        """Create a Machine of the control plane. first: whether the control plane has no Machine
        yet.
        """

    async def prepare_rollout(self) -> None:  # noqa: B027 - optional
        """Prepare the workload cluster for Machines of the new configuration."""

    async def update_in_place(self, machine: Machine) -> bool:
        """Update an outdated Machine instead of deleting it; False if it has to be deleted."""
        del machine
        return False

    async def prepare_deletion(self, machine: Machine) -> None:
        """Prepare the deletion of a Machine."""
        del machine

    async def delete_machine(self, machine: Machine) -> None:
        """Delete a Machine of the control plane, unless it is gone already."""
        try:
            await self._client.delete(Machine.RESOURCE, machine.key, uid=machine.metadata.uid)
        except NotFound:
            return

    def select_for_shutdown(self, deleting: Sequence[Machine]) -> Machine | None:
        """Return the Machine in deletion that may be shut down next, None if all have to wait."""
        waiting = (
            machine for machine in deleting if self.has_hook(machine) and waits_for_hook(machine)
        )
        return next(waiting, None)

    async def prepare_shutdown(self, machine: Machine) -> bool:
        """Prepare the shutdown of a drained Machine; False while it has to wait."""
        del machine
        return True

    async def run(self) -> Result | None:
        """Take the steps of the reconcile; return None if each of them found nothing to do."""
        for step in self.steps():
            result = await step()
            if result is not None:
                return result
        return None

    async def release_deleting(self) -> Result | None:
        """Let one Machine in deletion be shut down. While one is in deletion, nothing else is done;
        its changes enqueue the control plane.
        """
        deleting = [item for item in self.machines if item.deleting]
        if not deleting:
            return None
        machine = self.select_for_shutdown(deleting)
        if machine is not None and await self.prepare_shutdown(machine):
            await self.drop_hook(machine)
        return DONE

    async def scale(self) -> Result | None:
        """Take the next step towards the desired Machines; None if all exist and are up to date."""
        count, outdated = len(self.machines), self.outdated_machines
        if outdated:
            await self.prepare_rollout()
        if count < self.desired_replicas + (self.max_surge if outdated else 0):
            if self.may_change(None):
                await self.create_machine(first=not count)
        elif outdated or count > self.desired_replicas:
            machine = self.select_for_deletion()
            assert machine is not None  # one is outdated or surplus
            if not (outdated and await self.update_in_place(machine)) and self.may_change(machine):
                await self.prepare_deletion(machine)
                await self.delete_machine(machine)
        else:
            return None
        return DONE

    def has_hook(self, machine: Machine) -> bool:
        """Return whether the Machine's shutdown is delayed."""
        return self._hook in machine.metadata.annotations

    async def drop_hook(self, machine: Machine) -> None:
        """Stop delaying a Machine's shutdown."""
        if not self.has_hook(machine):
            return
        patch: Document = {"metadata": {"annotations": {self._hook: None}}}
        try:
            await self._client.patch(Machine.RESOURCE, machine.key, patch)
        except NotFound:
            return
        del machine.metadata.annotations[self._hook]

    async def delete_all(self) -> list[KapyError]:
        """Delete all Machines at once, without their shutdown being delayed; return the errors."""
        errors: list[KapyError] = []
        for machine in self.machines:
            try:
                await self.drop_hook(machine)
                if not machine.deleting:
                    await MachineLoop.delete_machine(self, machine)
            except KapyError as error:
                errors.append(error)
        return errors


class ClusterMachines(NamedTuple):
    """The control plane Machines of a cluster. own: the Machines of one control plane. foreign: the
    Machines of other owners.
    """

    own: Sequence[Document]
    foreign: Sequence[Document]


def control_plane_machines(machines: Iterable[Document], uid: str) -> ClusterMachines:
    """Divide the control plane Machines of a cluster into those of one control plane and those of
    others. machines: all Machines of the cluster. uid: the uid of the control plane.
    """
    own, foreign = list[Document](), list[Document]()
    for document in machines:
        metadata = document["metadata"]
        if Label.CONTROL_PLANE in (metadata.get("labels") or {}):
            owners = metadata.get("ownerReferences") or ()
            (own if any(owner["uid"] == uid for owner in owners) else foreign).append(document)
    return ClusterMachines(own, foreign)


def waits_for_hook(machine: Machine) -> bool:
    """Return whether the Machine is drained and waits for its pre-terminate hooks."""
    conditions = machine.status.conditions
    reason = reason_of(conditions, ConditionType.DELETING)
    is_deleting = is_true(conditions, ConditionType.DELETING)
    return is_deleting and reason == Reason.WAITING_FOR_PRE_TERMINATE_HOOK
