"""Where the upgrade of a managed cluster is: seen and decided while its desired state is computed.

Whoever asks for a desired state makes the tracker, and reads in it what must wait: nothing that
waits may be written, because its other changes would roll machines out twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation
from kapy.kube.digits import whole


@dataclass(slots=True)
class ControlPlaneUpgrade:
    """The control plane's part.

    pending: it should have another version and does not get it this time, so it is not written.
    plan: the versions that it still goes through; the last one is the wanted one.
    provisioning, upgrading: what the current one is busy with.
    starting: it gets its next version this time.
    waiting_for_workers: its next version would be too far ahead of the workers'.
    """

    pending: bool = False
    plan: list[str] = field(default_factory=list)
    provisioning: bool = False
    upgrading: bool = False
    starting: bool = False
    waiting_for_workers: bool = False

    @property
    def is_stable(self) -> bool:
        """Whether it has the wanted version and nothing is going on."""
        return not (self.provisioning or self.upgrading or self.starting or self.pending)

    @property
    def lets_workers_upgrade(self) -> bool:
        """Whether it is stable, or stands still for the workers."""
        busy = self.provisioning or self.upgrading or self.starting
        return not busy and (self.waiting_for_workers or not self.pending)


@dataclass(slots=True)
class WorkersUpgrade:
    """The part of all MachineDeployments, or of all MachinePools.

    pending_create: names in the topology of those that are not created this time.
    Names of objects are in the other sets. pending: not written this time; deferred: pending
    because the user says so; upgrading: busy with a version, or given one this time.
    concurrency: how many may be upgrading at the same time.
    """

    concurrency: int = 1
    plan: list[str] = field(default_factory=list)
    pending_create: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    deferred: set[str] = field(default_factory=set)
    upgrading: set[str] = field(default_factory=set)

    @property
    def is_concurrency_reached(self) -> bool:
        """Whether no more of them may start."""
        return len(self.upgrading) >= self.concurrency

    @property
    def is_settled(self) -> bool:
        """Whether all are there, with the wanted version."""
        return not (self.pending_create or self.pending or self.deferred or self.upgrading)


@dataclass(slots=True)
class UpgradeTracker:
    """The whole cluster.

    oldest_workers: the oldest version of workers, "" without workers.
    is_planned: whether the plans are known (they are empty when there is nothing to upgrade).
    """

    control_plane: ControlPlaneUpgrade = field(default_factory=ControlPlaneUpgrade)
    machine_deployments: WorkersUpgrade = field(default_factory=WorkersUpgrade)
    machine_pools: WorkersUpgrade = field(default_factory=WorkersUpgrade)
    oldest_workers: str = ""
    is_planned: bool = False

    @classmethod
    def of(cls, cluster: Cluster) -> UpgradeTracker:
        """A tracker that knows nothing yet but what the Cluster allows."""
        most = _concurrency(cluster)
        return cls(
            machine_deployments=WorkersUpgrade(concurrency=most),
            machine_pools=WorkersUpgrade(concurrency=most),
        )

    @property
    def workers_plan(self) -> list[str]:
        """The versions that workers still go through."""
        return self.machine_deployments.plan or self.machine_pools.plan

    @property
    def is_settled(self) -> bool:
        """Whether everything is there, with the wanted version."""
        return (
            self.control_plane.is_stable
            and self.machine_deployments.is_settled
            and self.machine_pools.is_settled
        )


def _concurrency(cluster: Cluster) -> int:
    """Admission lets positive numbers through only; of anything else, one."""
    said = cluster.metadata.annotations.get(Annotation.TOPOLOGY_UPGRADE_CONCURRENCY, "")
    return max(1, whole(said)) if said.isdecimal() else 1
