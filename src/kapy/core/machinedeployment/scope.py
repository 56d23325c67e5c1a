"""What one reconcile of a MachineDeployment works with: tools, what it has read and found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.client.client import Client
from kapy.conditions.quiet import Memory, Sums, is_quiet, sums
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.core.machinedeployment.updates import SetUpdates
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.ssa_cache import SSACache
from kapy.engine.status_memo import StatusInputs, StatusMemo
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.kube.selectors import selector_of


class Look(NamedTuple):
    """A Machine, and whether all is well with it (`kapy.conditions.quiet`)."""

    machine: Machine
    quiet: bool


@dataclass(slots=True)
class Known:
    """What is known of one MachineDeployment from before. settled: by the name of a MachineSet, its
    state and the intent that it agreed with."""

    looks: Memory[Look | None] = field(default_factory=Memory)
    settled: dict[str, tuple[Document, Document]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a MachineDeployment uses. applied: what is known of applies.
    memories: what is known of each MachineDeployment. computed: from what its status was. updates:
    who knows which Machines can be updated in place, None where none may be."""

    client: Client
    external: External
    fleet: Fleet
    events: Recorder
    clock: Clock
    applied: SSACache
    updates: SetUpdates | None = None
    memories: dict[Key, Known] = field(default_factory=dict)
    computed: StatusMemo = field(default_factory=StatusMemo)

    def forget(self, deployment: Key) -> None:
        """The MachineDeployment is gone."""
        self.memories.pop(deployment, None)
        self.computed.forget(deployment)

    def known(self, deployment: MachineDeployment) -> Known:
        """What is known of a MachineDeployment from before."""
        return self.memories.setdefault(deployment.key, Known())

    def looks(self, deployment: MachineDeployment, cluster: Key) -> list[Look]:
        """The Machines that the MachineDeployment's selector selects."""
        selector = selector_of(encode(deployment.spec.selector))

        def look(document: Document) -> Look | None:
            if not selector.selects(document):
                return None
            machine = self.fleet.machine_of(document)
            return Look(machine, is_quiet(machine))

        memory = self.known(deployment).looks
        looks = memory.of(self.fleet.machines_of(cluster), str(selector), look)
        return [one for one in looks if one is not None]


@dataclass(slots=True)
class MachineDeploymentScope:
    """One MachineDeployment, and what belongs to it.

    machines: all that its selector selects, shared with others that read them; quiet: the
    ids of those with which all is well. machine_sets: those
    that it controls, None until they were read; documents: the same by name, as they were read.
    missing: kinds of templates that do not exist, bootstrap first. broken: how a template (or its
    definition) breaks the contract. undecided: why it is not known which Machines can be updated in
    place.
    """

    tools: Tools
    draft: Draft[MachineDeployment]
    cluster: Cluster
    now: datetime
    machines: list[Machine]
    quiet: set[int]
    machine_sets: list[MachineSet] | None = None
    documents: dict[str, Document] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    broken: str = ""
    undecided: str = ""
    _sums: Sums | None = None

    @property
    def deployment(self) -> MachineDeployment:
        return self.draft.object

    def machine_set(self, name: str) -> MachineSet | None:
        """One of the sets, as it was read or written last."""
        return next((one for one in self.machine_sets or () if one.metadata.name == name), None)

    @property
    def inputs(self) -> StatusInputs | None:
        """What the status is made of, where all is well; None where it is not: there time alone
        may change what is said."""
        if self.deployment.deleting or self.machine_sets is None or self.missing or self.broken:
            return None
        if self.undecided:
            return None
        if len(self.quiet) != len(self.machines):
            return None
        return StatusInputs(
            [self.draft.before, self.cluster, *self.documents.values(), *self.machines]
        )

    @property
    def sums(self) -> Sums:
        """The Machines to sum up."""
        if self._sums is None:
            self._sums = sums(self.machines, self.quiet)
        return self._sums
