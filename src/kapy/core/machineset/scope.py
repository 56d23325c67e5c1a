"""What one reconcile of a MachineSet works with: its tools, what it has read and found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.conditions.quiet import Memory, Sums, sums
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.engine.cache import Cache, Informer
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.ssa_cache import SSACache
from kapy.engine.status_memo import StatusInputs, StatusMemo
from kapy.kube import Document, Key


class Look(NamedTuple):
    """What there is to a Machine. selected: whether the set's selector selects it. controller:
    the uid of the one that it has, None without one. checked: whether a health check told of it."""

    document: Document
    selected: bool
    controller: str | None
    machine: Machine
    quiet: bool
    checked: bool


class Settled(NamedTuple):
    """A Machine and what was cloned for it, in a state in which all was as the template wants it.

    clones: where each is cached, under which key, and the state that it was in. kinds: of all.
    """

    machine: Document
    clones: tuple[tuple[Informer[Document], Key, Document], ...]
    kinds: tuple[str, ...]

    def is_still(self, machine: Document) -> bool:
        """Whether nothing of them was written since."""
        if machine is not self.machine:
            return False
        return all(informer.raw(key) is clone for informer, key, clone in self.clones)


@dataclass(slots=True)
class Known:
    """What is known of the Machines of one MachineSet. settled: by the uid of a Machine, as the
    template (as bytes) wants it."""

    looks: Memory[Look] = field(default_factory=Memory)
    template: bytes = b""
    settled: dict[str, Settled] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a MachineSet uses.

    preflight: the checks that are made before Machines are, by name, or `All`. applied: what is
    known of applies. memories: what is known of the Machines of each MachineSet. computed: from
    what its status was.
    """

    client: Client
    cache: Cache
    external: External
    fleet: Fleet
    events: Recorder
    clock: Clock
    preflight: frozenset[str]
    applied: SSACache
    memories: dict[Key, Known] = field(default_factory=dict)
    computed: StatusMemo = field(default_factory=StatusMemo)

    def forget(self, machine_set: Key) -> None:
        """The MachineSet is gone."""
        self.memories.pop(machine_set, None)
        self.computed.forget(machine_set)


@dataclass(slots=True)
class MachineSetScope:
    """One MachineSet, and what belongs to it.

    machines: its Machines, None until they were read, shared with others that read them;
    documents: the same by name, as they were read; quiet: the ids of those with which all is well
    (`kapy.conditions.quiet`); checked: those of which a health check told. bootstrap_missing,
    infrastructure_missing: a template that does not exist. blocked: why no Machine can be made
    now; not_created: the same for readers of v1beta1.
    """

    tools: Tools
    draft: Draft[MachineSet]
    cluster: Cluster
    now: datetime
    deployment: MachineDeployment | None = None
    machines: list[Machine] | None = None
    documents: dict[str, Document] = field(default_factory=dict)
    quiet: set[int] = field(default_factory=set)
    checked: list[Machine] = field(default_factory=list)
    bootstrap_missing: bool = False
    infrastructure_missing: bool = False
    blocked: Sequence[str] = ()
    not_created: V1Beta1Condition | None = None
    _sums: Sums | None = None

    @property
    def machine_set(self) -> MachineSet:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace

    @property
    def is_current(self) -> bool:
        """Whether the set serves its MachineDeployment's template, or stands alone."""
        if self.deployment is None:
            return True
        own, theirs = (
            one.metadata.annotations.get(Annotation.REVISION)
            for one in (self.machine_set, self.deployment)
        )
        return own == theirs

    @property
    def known(self) -> Known:
        """What is known of the set's Machines from before."""
        return self.tools.memories.setdefault(self.machine_set.key, Known())

    @property
    def inputs(self) -> StatusInputs | None:
        """What the status is made of, where all is well; None where it is not: there time alone
        may change what is said."""
        if self.machine_set.deleting or self.machines is None or self.blocked or self.not_created:
            return None
        if self.bootstrap_missing or self.infrastructure_missing:
            return None
        if len(self.quiet) != len(self.machines):
            return None
        return StatusInputs([self.draft.before, self.cluster, *self.machines])

    @property
    def sums(self) -> Sums:
        """The Machines to sum up."""
        if self._sums is None:
            self._sums = sums(self.machines or (), self.quiet)
        return self._sums

    def let_go(self, name: str) -> None:
        """Go on without one of the Machines: it is another set's now."""
        machines, self._sums = self.machines, None
        assert machines is not None
        self.documents.pop(name, None)
        machines[:] = [one for one in machines if one.metadata.name != name]

    def keep(self, document: Document) -> None:
        """Go on with a newer state of one of the Machines."""
        machines, self._sums = self.machines, None
        assert machines is not None
        name = document["metadata"]["name"]
        self.documents[name] = document
        machines[:] = [
            self.tools.fleet.machine_of(document) if one.metadata.name == name else one
            for one in machines
        ]
