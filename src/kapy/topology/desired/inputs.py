"""The inputs of one desired state."""

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
    """The inputs for computing a desired state. upgrades: records decisions about upgrades. calls:
    calls runtime extensions."""

    blueprint: Blueprint
    current: ClusterState
    upgrades: UpgradeTracker
    calls: HookCalls

    @property
    def cluster(self) -> Cluster:
        """Return the current Cluster."""
        return self.current.cluster

    @property
    def steps(self) -> UpgradeSteps:
        """The remaining upgrade steps, in the form that runtime extensions receive."""
        return UpgradeSteps(self.upgrades.control_plane.plan, self.upgrades.workers_plan)
