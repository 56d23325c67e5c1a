"""The progress of a managed cluster's upgrade, recorded while its desired state is computed.

The caller of `desired_state` creates the tracker and reads from it which objects must wait. A
waiting object must not be written: its other changes would roll out its machines twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation
from kapy.kube.digits import parse_digits


@dataclass(slots=True)
class ControlPlaneUpgrade:
    """The progress of the control plane's upgrade.

    pending: whether the control plane should have another version but does not get it in this
    reconcile, so it is not written. plan: the versions ahead of it; the last one is the target
    version. provisioning, upgrading: whether the current object is in progress. starting: whether
    it gets its next version in this reconcile. waiting_for_workers: whether its next version would
    be too far ahead of the workers.
    """

    pending: bool = False
    plan: list[str] = field(default_factory=list)
    provisioning: bool = False
    upgrading: bool = False
    starting: bool = False
    waiting_for_workers: bool = False

    @property
    def is_stable(self) -> bool:
        """Return whether the control plane has the target version and no operation is in
        progress.
        """
        return not (self.provisioning or self.upgrading or self.starting or self.pending)

    @property
    def lets_workers_upgrade(self) -> bool:
        """Return whether the control plane is stable, or waits for the workers."""
        busy = self.provisioning or self.upgrading or self.starting
        return not busy and (self.waiting_for_workers or not self.pending)


@dataclass(slots=True)
class WorkersUpgrade:
    """The progress of the upgrade of all MachineDeployments, or of all MachinePools.

    pending_create: topology names of groups that are not created in this reconcile. The other sets
    have object names. pending: groups that are not written in this reconcile. deferred: groups that
    are pending by the user's choice. upgrading: groups whose upgrade is in progress or starts in
    this reconcile. concurrency: the maximum number of groups that upgrade at the same time.
    """

    concurrency: int = 1
    plan: list[str] = field(default_factory=list)
    pending_create: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    deferred: set[str] = field(default_factory=set)
    upgrading: set[str] = field(default_factory=set)

    @property
    def is_concurrency_reached(self) -> bool:
        """Return whether no further group may start its upgrade."""
        return len(self.upgrading) >= self.concurrency

    @property
    def is_settled(self) -> bool:
        """Return whether all groups exist and have the target version."""
        return not (self.pending_create or self.pending or self.deferred or self.upgrading)


@dataclass(slots=True)
class UpgradeTracker:
    """The upgrade of the whole cluster.

    oldest_workers: the oldest version of workers, "" without workers. is_planned: the plans are
    known (they are empty if there is nothing to upgrade).
    """

    control_plane: ControlPlaneUpgrade = field(default_factory=ControlPlaneUpgrade)
    machine_deployments: WorkersUpgrade = field(default_factory=WorkersUpgrade)
    machine_pools: WorkersUpgrade = field(default_factory=WorkersUpgrade)
    oldest_workers: str = ""
    is_planned: bool = False

    @classmethod
    def of(cls, cluster: Cluster) -> UpgradeTracker:
        """Return a tracker for a Cluster, with only the allowed concurrency set."""
        max_bytes = _concurrency(cluster)
        return cls(
            machine_deployments=WorkersUpgrade(concurrency=max_bytes),
            machine_pools=WorkersUpgrade(concurrency=max_bytes),
        )

    @property
    def workers_plan(self) -> list[str]:
        """The versions ahead of the workers."""
        return self.machine_deployments.plan or self.machine_pools.plan

    @property
    def is_settled(self) -> bool:
        """Return whether all objects exist and have the target version."""
        return (
            self.control_plane.is_stable
            and self.machine_deployments.is_settled
            and self.machine_pools.is_settled
        )


def _concurrency(cluster: Cluster) -> int:
    """Return the upgrade concurrency of the annotation. Admission accepts positive numbers only;
    any other value counts as 1.
    """
    annotation = cluster.metadata.annotations.get(Annotation.TOPOLOGY_UPGRADE_CONCURRENCY, "")
    return max(1, parse_digits(annotation) or 1)
