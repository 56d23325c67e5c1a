"""What one reconcile of a MachineDeployment works with: tools, what it has read and found out."""

from __future__ import annotations

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
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a MachineDeployment uses."""

    client: Client
    external: External
    fleet: Fleet
    events: Recorder
    clock: Clock


@dataclass(slots=True)
class MachineDeploymentScope:
    """One MachineDeployment, and what belongs to it.

    machines: all that its selector selects, shared with others that read them. machine_sets: those
    that it controls, None until they were read; documents: the same by name, as they were read.
    missing: kinds of templates that do not exist, bootstrap first.
    """

    tools: Tools
    draft: Draft[MachineDeployment]
    cluster: Cluster
    now: datetime
    machines: list[Machine]
    machine_sets: list[MachineSet] | None = None
    documents: dict[str, Document] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def deployment(self) -> MachineDeployment:
        return self.draft.object

    def machine_set(self, name: str) -> MachineSet | None:
        """One of the sets, as it was read or written last."""
        return next((one for one in self.machine_sets or () if one.metadata.name == name), None)
