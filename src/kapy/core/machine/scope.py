"""What one reconcile of a Machine works with: its tools, what it has read, what it found out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.client.client import Client
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Observed
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document, Key
from kapy.remote.connections import Connections, Health


@dataclass(slots=True)
class Tools:
    """What every reconcile of a Machine uses. node_keys: the Machines of a changed Node."""

    client: Client
    external: External
    remote: Connections
    fleet: Fleet
    events: Recorder
    clock: Clock
    node_keys: Callable[[Key, Change], Iterable[Key]]
    controller: Controller = field(init=False)


@dataclass(slots=True)
class MachineScope:
    """One Machine, and what belongs to it.

    bootstrap, infrastructure, node: Absent until their phase has looked (and for a Machine that
    refers to none). claimed: an object that the Machine refers to was made its own just now.
    deleting: reason and message of the Deleting condition.
    """

    tools: Tools
    draft: Draft[Machine]
    cluster: Cluster
    now: datetime
    health: Health
    machine_set: MachineSet | None = None
    deployment: MachineDeployment | None = None
    bootstrap: Observed[BootstrapConfig] = field(default_factory=Absent)
    infrastructure: Observed[InfraMachine] = field(default_factory=Absent)
    node: Observed[Document] = field(default_factory=Absent)
    claimed: bool = False
    deleting: tuple[str, str] = ("", "")

    @property
    def machine(self) -> Machine:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace

    @property
    def cluster_key(self) -> Key:
        return self.cluster.key

    def waits(self, reason: str, message: str) -> None:
        """Say in the Deleting condition what the deletion has come to."""
        self.deleting = (reason, message)
