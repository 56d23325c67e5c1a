"""What one desired state is computed from."""

from __future__ import annotations

from dataclasses import dataclass

from kapy.api.cluster import Cluster
from kapy.topology.blueprint import Blueprint
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import UpgradeSteps
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_tracker import UpgradeTracker


@dataclass(frozen=True)
class Inputs:
    """upgrades: what is seen and decided on the way. calls: the door to extensions."""

    blueprint: Blueprint
    current: ClusterState
    upgrades: UpgradeTracker
    calls: HookCalls

    @property
    def cluster(self) -> Cluster:
        """The Cluster as it is."""
        return self.current.cluster

    @property
    def steps(self) -> UpgradeSteps:
        """What is still ahead, as extensions are told it."""
        return UpgradeSteps(self.upgrades.control_plane.plan, self.upgrades.workers_plan)
