"""What one reconcile of a Machine works with: its tools, what it has read, what it found out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.condition import V1Beta1Condition
from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.machine_set import MachineSet
from kapy.api.machine_status import MachineDeletionStatus
from kapy.api.machines import is_updating_in_place
from kapy.client.client import Client
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.node_metadata import USUAL, Synced
from kapy.core.machine.updates import Said, Updates
from kapy.core.machine.vigil import Held, Sight, Vigils, Waiting
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.status_memo import StatusInputs, StatusMemo
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.remote.cluster_cache import ClusterCache, Health
from kapy.remote.node_deletion import NodeDeletions


@dataclass(slots=True)
class Tools:
    """What every reconcile of a Machine uses.

    node_keys: the Machines of a changed Node. gates: the feature gates. synced: which labels and
    annotations Nodes get besides the usual ones. grace: silence of a workload cluster after which
    nothing is known of its Nodes. computed: from what the status of each Machine was. updates: who
    updates Machines in place, None where nobody may. said: what they said last. node_deletions:
    since when Nodes are being deleted.
    """

    client: Client
    external: External
    remote: ClusterCache
    fleet: Fleet
    events: Recorder
    clock: Clock
    node_keys: Callable[[Key, Change], Iterable[Key]]
    drain_rules: Informer[MachineDrainRule]
    vigils: Vigils
    gates: FeatureGates = DEFAULT_GATES
    grace: timedelta = timedelta(minutes=5)
    synced: Synced = USUAL
    updates: Updates | None = None
    controller: Controller = field(init=False)
    computed: StatusMemo = field(default_factory=StatusMemo)
    said: Said = field(default_factory=Said)
    node_deletions: NodeDeletions = field(default_factory=NodeDeletions)


@dataclass(slots=True)
class MachineScope:
    """One Machine, and what belongs to it.

    bootstrap, infrastructure, node: Absent until their phase has looked (and for a Machine that
    refers to none). claimed: an object that the Machine refers to was made its own just now.
    deleting: reason and message of the Deleting condition. legacy: conditions of v1beta1 that the
    steps of a deletion have to report. held: what of the workload cluster is watched until the
    next look. updating: reason and message of the Updating condition.
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
    updating: tuple[str, str] = ("", "")
    legacy: list[V1Beta1Condition] = field(default_factory=list)
    held: set[Held] = field(default_factory=set)

    @property
    def machine(self) -> Machine:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace

    @property
    def cluster_key(self) -> Key:
        return self.cluster.key

    @property
    def inputs(self) -> StatusInputs | None:
        """What the status is made of, where all is well; None where it is not: there time alone
        may change what is said."""
        health = self.health
        if self.machine.deleting or self.legacy or not health.connected or health.failures:
            return None
        if not isinstance(self.node, Found) or is_updating_in_place(self.machine):
            return None
        objects: list[object] = [self.draft.before, self.cluster, self.machine_set, self.deployment]
        objects.append(self.node.view)
        facts: list[object] = []
        for observed in (self.bootstrap, self.infrastructure):
            if isinstance(observed, Unreadable) or (
                isinstance(observed, Found) and observed.problem is not None
            ):
                return None
            if isinstance(observed, Found):
                objects.append(observed.view.document)
                facts.append(observed.view.contract)
        return StatusInputs(objects, tuple(facts))

    def deletion_times(self) -> MachineDeletionStatus:
        """`status.deletion`, made if need be."""
        status = self.machine.status
        if status.deletion is None:
            status.deletion = MachineDeletionStatus()
        return status.deletion

    async def look(self, resource: Resource, fields: str = "") -> Sight:
        """Objects of the workload cluster that say whether the Node can go (`vigil`)."""
        tools, node = self.tools, self.machine.status.node_ref
        assert node is not None
        waiting = Waiting(self.machine.key, self.cluster_key, node.name, self.held)
        return await tools.vigils.look(tools.controller, waiting, resource, fields)

    def waits(self, reason: str, message: str) -> None:
        """Say in the Deleting condition what the deletion has come to."""
        self.deleting = (reason, message)
