"""What one reconcile of a Cluster works with: its tools, what it has read and found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster, ClusterAvailabilityGate
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.api.names import Label
from kapy.client.client import Client
from kapy.conditions.quiet import Memory
from kapy.contract.control_plane import ControlPlane
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Found, Observed
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.private_keys import PrivateKeyPool
from kapy.engine.status_memo import StatusInputs, StatusMemo
from kapy.kube import Document, Key
from kapy.kube.meta import Object
from kapy.remote.cluster_cache import ClusterCache, Health


class Look(NamedTuple):
    """A Machine, and whether all is well with it."""

    machine: Machine
    quiet: bool


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a Cluster uses.

    grace: silence of a workload cluster that nothing is said of yet. memories: what is known of
    the Machines of each Cluster. computed: from what the status of each was. asks_first: extensions
    are asked before a Cluster of a class is deleted.
    """

    client: Client
    external: External
    remote: ClusterCache
    fleet: Fleet
    classes: Informer[Document]
    events: Recorder
    clock: Clock
    keys: PrivateKeyPool
    grace: timedelta
    asks_first: bool
    memories: dict[Key, Memory[Look]] = field(default_factory=dict)
    computed: StatusMemo = field(default_factory=StatusMemo)

    def forget(self, cluster: Key) -> None:
        """The Cluster is gone."""
        self.memories.pop(cluster, None)
        self.computed.forget(cluster)


@dataclass(slots=True)
class Descendants:
    """Our own kinds that belong to one Cluster, each in the order of names. control_plane, workers:
    its Machines; quiet: the ids of those with which all is well (`kapy.conditions.quiet`).
    documents: all of them, as they were read."""

    deployments: list[MachineDeployment] = field(default_factory=list)
    machine_sets: list[MachineSet] = field(default_factory=list)
    control_plane: list[Machine] = field(default_factory=list)
    workers: list[Machine] = field(default_factory=list)
    pools: list[MachinePool] = field(default_factory=list)
    quiet: set[int] = field(default_factory=set)
    documents: list[Document] = field(default_factory=list)


@dataclass(slots=True)
class ClusterScope:
    """One Cluster, and what belongs to it.

    gates: more conditions for Available, the Cluster's own or its class's. infrastructure,
    control_plane: Absent until their phase has looked (and for a Cluster that refers to none).
    deleting: reason and message of the Deleting condition.
    """

    tools: Tools
    draft: Draft[Cluster]
    now: datetime
    health: Health
    descendants: Descendants
    gates: list[ClusterAvailabilityGate] = field(default_factory=list)
    infrastructure: Observed[InfraCluster] = field(default_factory=Absent)
    control_plane: Observed[ControlPlane] = field(default_factory=Absent)
    deleting: tuple[str, str] = ("", "")

    @property
    def cluster(self) -> Cluster:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace

    @property
    def awaits_topology(self) -> bool:
        """Whether the Cluster's parts are still to be made of its class."""
        spec = self.cluster.spec
        made = spec.control_plane_ref is not None and spec.infrastructure_ref is not None
        return spec.topology is not None and not made and not self.cluster.deleting

    @property
    def inputs(self) -> StatusInputs | None:
        """What the status is made of, where all is well; None where it is not: there time alone
        may change what is said."""
        health, descendants = self.health, self.descendants
        machines = len(descendants.control_plane) + len(descendants.workers)
        if self.cluster.deleting or not health.connected or health.failures:
            return None
        if len(descendants.quiet) != machines:
            return None
        objects, facts = [self.draft.before, *descendants.documents], list[object](self.gates)
        for observed in (self.infrastructure, self.control_plane):
            if not isinstance(observed, Found) or observed.problem is not None:
                return None
            objects.append(observed.view.document)
            facts.append(observed.view.contract)
        return StatusInputs(objects, tuple(facts))

    def waits(self, reason: str, message: str) -> None:
        """Say in the Deleting condition what the deletion has come to."""
        self.deleting = (reason, message)


def is_owned_by(owned: Object, owner: Object) -> bool:
    """Whether `owned` refers to `owner` as one of its owners."""
    return any(
        reference.kind == owner.RESOURCE.kind and reference.name == owner.metadata.name
        for reference in owned.metadata.owner_references
    )


def is_of_pool(machine: Machine) -> bool:
    """Whether the Machine stands for one of a MachinePool's."""
    return Label.POOL_NAME in machine.metadata.labels
