"""The dependencies, inputs and results of one reconcile of a MachineDeployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.client.client import Client
from kapy.conditions.aggregation_input import (
    AggregationInput,
    Group,
    MemoCache,
    aggregation_input,
    group_of,
)
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.external import External
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.ssa_cache import SSACache
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.kube.selectors import selector_of


class SetUpdates(Protocol):
    """Asks a runtime extension whether it can update the Machines of a MachineSet in place."""

    async def can_update_machine_set(
        self, deployment: Key, current: Document, desired: Document
    ) -> Sequence[str]:
        """Return the reasons for which the Machines of a MachineSet cannot be updated in place;
        none if they can.

        current, desired: `machineSet`, `infrastructureMachineTemplate` and
        `bootstrapConfigTemplate` (if there is one). Raises KapyError if the extension does not
        respond.
        """
        ...


class ObservedMachine(NamedTuple):
    """A Machine, and its aggregation group, if it has one."""

    machine: Machine
    group: Group | None


@dataclass(slots=True)
class DeploymentCache:
    """Cached states of one MachineDeployment.

    synced: the state of each MachineSet and the apply configuration that it agreed with, by the
    set's name.
    """

    observed: MemoCache[ObservedMachine | None] = field(default_factory=MemoCache)
    synced: dict[str, tuple[Document, Document]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the MachineDeployment reconciler. applied: the SSA cache. caches: cached
    states per MachineDeployment. updates: asks extensions which Machines can be updated in place,
    None if the feature is off.
    """

    client: Client
    external: External
    fleet: ClusterObjects
    events: Recorder
    clock: Clock
    applied: SSACache
    updates: SetUpdates | None = None
    caches: dict[Key, DeploymentCache] = field(default_factory=dict)

    def cache_of(self, deployment: MachineDeployment) -> DeploymentCache:
        """Return the cached states of a MachineDeployment."""
        return self.caches.setdefault(deployment.key, DeploymentCache())

    def observed_machines(
        self, deployment: MachineDeployment, cluster: Key
    ) -> list[ObservedMachine]:
        """Return the Machines that the MachineDeployment's selector selects."""
        selector = selector_of(encode(deployment.spec.selector))

        def observe(document: Document) -> ObservedMachine | None:
            if not selector.selects(document):
                return None
            machine = self.fleet.machine_of(document)
            return ObservedMachine(machine, group_of(machine))

        memory = self.cache_of(deployment).observed
        observed = memory.map(self.fleet.machines_of(cluster), str(selector), observe)
        return [item for item in observed if item is not None]


@dataclass(slots=True)
class MachineDeploymentScope:
    """The state of one reconcile of a MachineDeployment.

    machines: all selected Machines, shared with other readers; groups: their aggregation groups, by
    the Machine's `id`. machine_sets: its MachineSets, None before they were read; documents: the
    same sets by name. missing: kinds of missing templates, bootstrap first. broken: the contract
    violation of a template. undecided: the reason for which it is unknown which Machines can be
    updated in place.
    """

    dependencies: Dependencies
    draft: Draft[MachineDeployment]
    cluster: Cluster
    now: datetime
    machines: list[Machine]
    groups: dict[int, Group]
    machine_sets: list[MachineSet] | None = None
    documents: dict[str, Document] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    broken: str = ""
    undecided: str = ""
    _sums: AggregationInput | None = None

    @property
    def deployment(self) -> MachineDeployment:
        return self.draft.object

    def machine_set(self, name: str) -> MachineSet | None:
        """Return one of the sets in its newest known state."""
        return next((item for item in self.machine_sets or () if item.metadata.name == name), None)

    @property
    def status_inputs(self) -> StatusInputs | None:
        """Return the inputs of the status, used as a memoization key. None if the status depends on
        time (deletion, errors) and must be computed.
        """
        if self.deployment.deleting or self.machine_sets is None or self.missing or self.broken:
            return None
        if self.undecided:
            return None
        if len(self.groups) != len(self.machines):
            return None
        return StatusInputs(
            [self.draft.before, self.cluster, *self.documents.values(), *self.machines]
        )

    @property
    def aggregation_input(self) -> AggregationInput:
        """Return the Machines to aggregate."""
        if self._sums is None:
            self._sums = aggregation_input(self.machines, self.groups)
        return self._sums
