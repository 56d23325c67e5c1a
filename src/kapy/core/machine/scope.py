"""The dependencies, inputs and results of one reconcile of a Machine, and the interface for
updating Machines in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

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
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.external import External
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.node_metadata import DEFAULT_SYNC, SyncedMetadata
from kapy.core.machine.temporary_watches import (
    Snapshot,
    TemporaryWatches,
    WaitingMachine,
    WatchedObjects,
)
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.remote.cluster_cache import ClusterCache, Health
from kapy.remote.nodes import NodeDeletions


class Progress(NamedTuple):
    """The progress of an update. retry_after: seconds until the next call; 0: it is done."""

    retry_after: float = 0
    message: str = ""


class InPlaceUpdater(Protocol):
    """Calls an extension to update Machines."""

    async def update_machine(self, machine: Key, desired: Document) -> Progress:
        """Update a Machine to its desired state; called repeatedly until it is done.

        desired: `machine`, `infrastructureMachine` and `bootstrapConfig` (if there is one). Raises
        KapyError if the update has failed for now.
        """
        ...


class ProgressMemo:
    """Remembers the last progress of running updates until their next call is due.

    An entry is valid only for the same desired state. Losing it (with this program) costs one call.
    """

    def __init__(self) -> None:
        self._said: dict[Key, tuple[object, float, Progress]] = {}

    def get(self, machine: Key, about: object) -> Progress | None:
        """Return the last progress with the remaining seconds; None if the extension has to be
        called.
        """
        response = self._said.get(machine)
        if response is None or response[0] != about:
            return None
        seconds = response[1] - asyncio.get_running_loop().time()
        if timedelta(seconds=seconds) <= timedelta(0):  # less than a microsecond is no time
            return None
        return response[2]._replace(retry_after=seconds)

    def put(self, machine: Key, about: object, progress: Progress) -> None:
        """Remember a progress that requested another call."""
        until = asyncio.get_running_loop().time() + progress.retry_after
        self._said[machine] = about, until, progress

    def forget(self, machine: Key) -> None:
        """Forget a finished update."""
        self._said.pop(machine, None)


@dataclass(slots=True)
class Dependencies:
    """The dependencies of the Machine reconciler.

    node_keys: maps a Node to its Machines. gates: the feature gates. synced: additional labels and
    annotations for Nodes. grace: how long a workload cluster may be unreachable before Node
    conditions are Unknown. updates: updates Machines in place, None if the feature is off.
    update_progress: the last progress of these updates. node_deletions: running Node deletions.
    """

    client: Client
    external: External
    remote: ClusterCache
    fleet: ClusterObjects
    events: Recorder
    clock: Clock
    node_keys: Callable[[Key, Change], Iterable[Key]]
    drain_rules: Informer[MachineDrainRule]
    temporary_watches: TemporaryWatches
    gates: FeatureGates = DEFAULT_GATES
    grace: timedelta = timedelta(minutes=5)
    synced: SyncedMetadata = DEFAULT_SYNC
    updates: InPlaceUpdater | None = None
    controller: Controller = field(init=False)
    update_progress: ProgressMemo = field(default_factory=ProgressMemo)
    node_deletions: NodeDeletions = field(default_factory=NodeDeletions)


@dataclass(slots=True)
class MachineScope:
    """One Machine and its objects.

    bootstrap, infrastructure, node: Absent until their phase has read them (and without a
    reference). deleting: reason and message of the Deleting condition. legacy: v1beta1 conditions
    of deletion steps. watched: temporarily watched objects that are still needed. updating: reason
    and message of the Updating condition.
    """

    dependencies: Dependencies
    draft: Draft[Machine]
    cluster: Cluster
    now: datetime
    health: Health
    machine_set: MachineSet | None = None
    deployment: MachineDeployment | None = None
    bootstrap: Observed[BootstrapConfig] = field(default_factory=Absent)
    infrastructure: Observed[InfraMachine] = field(default_factory=Absent)
    node: Observed[Document] = field(default_factory=Absent)
    deleting: tuple[str, str] = ("", "")
    updating: tuple[str, str] = ("", "")
    legacy: list[V1Beta1Condition] = field(default_factory=list)
    watched: set[WatchedObjects] = field(default_factory=set)

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
    def status_inputs(self) -> StatusInputs | None:
        """Return the inputs of the status, used as a memoization key. None if the status depends on
        time (deletion, lost connection, errors) and must be computed.
        """
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
        """Return `status.deletion`, created if needed."""
        status = self.machine.status
        if status.deletion is None:
            status.deletion = MachineDeletionStatus()
        return status.deletion

    async def snapshot(self, resource: Resource, fields: str = "") -> Snapshot:
        """Return a snapshot of objects of the workload cluster that block the Node's deletion
        (`temporary_watches`).
        """
        dependencies, node = self.dependencies, self.machine.status.node_ref
        assert node is not None
        waiting = WaitingMachine(self.machine.key, self.cluster_key, node.name, self.watched)
        return await dependencies.temporary_watches.snapshot(
            dependencies.controller, waiting, resource, fields
        )

    def set_deleting_condition(self, reason: str, message: str) -> None:
        """Set reason and message of the Deleting condition."""
        self.deleting = (reason, message)
