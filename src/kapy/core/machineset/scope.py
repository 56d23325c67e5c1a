"""What one reconcile of a MachineSet works with: its tools, what it has read and found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeAlias

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.conditions.quiet import Memory
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.engine.cache import Cache
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document, Key

Mark: TypeAlias = tuple[str, ...]
"""Which state of which objects was looked at: their resourceVersions."""


class Look(NamedTuple):
    """What there is to a Machine. selected: whether the set's selector selects it. controller:
    the uid of the one that it has, None without one."""

    document: Document
    selected: bool
    controller: str | None
    machine: Machine
    quiet: bool


@dataclass(slots=True)
class Known:
    """What is known of the Machines of one MachineSet. settled: the state of each Machine and its
    clones in which all was as the template (as bytes) wants it."""

    looks: Memory[Look] = field(default_factory=Memory)
    template: bytes = b""
    settled: dict[str, Mark] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a MachineSet uses.

    preflight: the checks that are made before Machines are, by name, or `All`. memories: what is
    known of the Machines of each MachineSet.
    """

    client: Client
    cache: Cache
    external: External
    fleet: Fleet
    events: Recorder
    clock: Clock
    preflight: frozenset[str]
    memories: dict[Key, Known] = field(default_factory=dict)


@dataclass(slots=True)
class MachineSetScope:
    """One MachineSet, and what belongs to it.

    machines: its Machines, None until they were read, shared with others that read them;
    documents: the same by name, as they were read; quiet: the ids of those with which all is well
    (`kapy.conditions.quiet`). bootstrap_missing, infrastructure_missing: a
    template that does not exist. blocked: why no Machine can be made now; not_created: the same
    for readers of v1beta1.
    """

    tools: Tools
    draft: Draft[MachineSet]
    cluster: Cluster
    now: datetime
    deployment: MachineDeployment | None = None
    machines: list[Machine] | None = None
    documents: dict[str, Document] = field(default_factory=dict)
    quiet: set[int] = field(default_factory=set)
    bootstrap_missing: bool = False
    infrastructure_missing: bool = False
    blocked: Sequence[str] = ()
    not_created: V1Beta1Condition | None = None

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

    def keep(self, document: Document) -> None:
        """Go on with a newer state of one of the Machines."""
        machines = self.machines
        assert machines is not None
        name = document["metadata"]["name"]
        self.documents[name] = document
        machines[:] = [
            self.tools.fleet.machine_of(document) if one.metadata.name == name else one
            for one in machines
        ]
