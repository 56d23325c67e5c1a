"""The dependencies, inputs and results of one reconcile of a Cluster."""

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
from kapy.conditions.aggregation_input import Group, MemoCache
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.control_plane import ControlPlane
from kapy.contract.external import External
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Found, Observed
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.private_keys import PrivateKeyPool
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Document, Key
from kapy.kube.meta import Object
from kapy.remote.cluster_cache import ClusterCache, Health


class ObservedMachine(NamedTuple):
    """A Machine, and its aggregation group, if it has one."""

    machine: Machine
    group: Group | None


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the Cluster reconciler.

    grace: how long an unreachable workload cluster is not reported. machine_caches: cached Machine
    states per Cluster. has_delete_hooks: whether BeforeClusterDelete hooks are called for Clusters
    with a class.
    """

    client: Client
    external: External
    remote: ClusterCache
    fleet: ClusterObjects
    classes: Informer[Document]
    events: Recorder
    clock: Clock
    keys: PrivateKeyPool
    grace: timedelta
    has_delete_hooks: bool
    machine_caches: dict[Key, MemoCache[ObservedMachine]] = field(default_factory=dict)


@dataclass(slots=True)
class Descendants:
    """The objects that belong to one Cluster, sorted by name. control_plane, workers: its Machines;
    groups: their aggregation groups, by the Machine's `id`.
    documents: all of them, as they were read.
    """

    deployments: list[MachineDeployment] = field(default_factory=list)
    machine_sets: list[MachineSet] = field(default_factory=list)
    control_plane: list[Machine] = field(default_factory=list)
    workers: list[Machine] = field(default_factory=list)
    pools: list[MachinePool] = field(default_factory=list)
    groups: dict[int, Group] = field(default_factory=dict)
    documents: list[Document] = field(default_factory=list)


@dataclass(slots=True)
class ClusterScope:
    """One Cluster and its objects.

    gates: availability gates of the Cluster or its class. infrastructure, control_plane: Absent
    until their phase has read them (and without a reference). deleting: reason and message of the
    Deleting condition.
    """

    dependencies: Dependencies
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
        """Whether the topology controller still has to create the Cluster's objects."""
        spec = self.cluster.spec
        result = spec.control_plane_ref is not None and spec.infrastructure_ref is not None
        return spec.topology is not None and not result and not self.cluster.deleting

    @property
    def status_inputs(self) -> StatusInputs | None:
        """Return the inputs of the status, used as a memoization key. None if the status depends on
        time (deletion, lost connection, errors) and must be computed.
        """
        health, descendants = self.health, self.descendants
        machines = len(descendants.control_plane) + len(descendants.workers)
        if self.cluster.deleting or not health.connected or health.failures:
            return None
        if len(descendants.groups) != machines:
            return None
        objects, facts = [self.draft.before, *descendants.documents], list[object](self.gates)
        for observed in (self.infrastructure, self.control_plane):
            if not isinstance(observed, Found) or observed.problem is not None:
                return None
            objects.append(observed.view.document)
            facts.append(observed.view.contract)
        return StatusInputs(objects, tuple(facts))

    def set_deleting_condition(self, reason: str, message: str) -> None:
        """Set reason and message of the Deleting condition."""
        self.deleting = (reason, message)


def is_owned_by(owned: Object, owner: Object) -> bool:
    """Return whether `owner` is one of the owners of `owned`."""
    kind, name = owner.RESOURCE.kind, owner.metadata.name
    # A loop, because a generator would double the time, and this runs for each Machine.
    for reference in owned.metadata.owner_references:
        if reference.kind == kind and reference.name == name:
            return True
    return False


def is_of_pool(machine: Machine) -> bool:
    """Return whether the Machine represents a machine of a MachinePool."""
    return Label.POOL_NAME in machine.metadata.labels
