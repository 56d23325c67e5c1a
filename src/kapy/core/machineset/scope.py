"""What one reconcile of a MachineSet works with: its tools, what it has read and found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.client.client import Client
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.engine.cache import Cache
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a MachineSet uses."""

    client: Client
    cache: Cache
    external: External
    fleet: Fleet
    events: Recorder
    clock: Clock


@dataclass(slots=True)
class MachineSetScope:
    """One MachineSet, and what belongs to it.

    machines: its Machines, None until they were read; documents: the same by name, as they were
    read. bootstrap_missing, infrastructure_missing: a template that does not exist. blocked: why
    no Machine may be made now.
    """

    tools: Tools
    draft: Draft[MachineSet]
    cluster: Cluster
    now: datetime
    deployment: MachineDeployment | None = None
    machines: list[Machine] | None = None
    documents: dict[str, Document] = field(default_factory=dict)
    bootstrap_missing: bool = False
    infrastructure_missing: bool = False
    blocked: Sequence[str] = ()

    @property
    def machine_set(self) -> MachineSet:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace
