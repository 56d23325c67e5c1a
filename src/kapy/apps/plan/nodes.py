"""Assumed versions of Nodes of machine pools in workload clusters.

No workload cluster is asked: a pool's Nodes have the version that the pool had at the start of the
plan, until its provider is assumed to have finished.
"""

from __future__ import annotations

from collections.abc import Callable

from kapy.api.machine_pool import MachinePool
from kapy.apps.plan.snapshot import Objects, Snapshot
from kapy.kube import Document, Key
from kapy.kube.names import Resource


class AssumedNodes:
    """Versions of Nodes by name; node names are unique across pools."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def read(self, snapshot: Snapshot) -> None:
        """Assume that every Node has the version of its pool now."""
        for pool in Objects(snapshot).all(MachinePool):
            self.upgrade(pool)

    def upgrade(self, pool: MachinePool) -> None:
        """Assume that the Nodes of a pool have its version now."""
        version = pool.spec.template.spec.version
        self._versions |= {ref.name: version for ref in pool.status.node_refs}

    def are_behind(self, pool: MachinePool) -> bool:
        """Return whether a Node of the pool has another version than the pool."""
        version = pool.spec.template.spec.version
        return any(self._versions.get(ref.name) != version for ref in pool.status.node_refs)

    # what a topology asks (kapy.core.topology.scope.Workloads)

    def informer(self, cluster: Key, resource: Resource) -> AssumedNodes:  # noqa: ARG002
        """Return the Nodes of any cluster."""
        return self

    def raw(self, key: Key) -> Document | None:
        """Return a Node with the fields that topologies read."""
        version = self._versions.get(key.name)
        return None if version is None else {"status": {"nodeInfo": {"kubeletVersion": version}}}

    def subscribe(self, handler: Callable[[Key], None]) -> Callable[[], None]:  # noqa: ARG002
        """Connections never change in a plan, so nothing is subscribed."""
        return lambda: None
