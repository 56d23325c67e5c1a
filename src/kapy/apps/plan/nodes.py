"""What workload clusters would say of the Nodes of machine pools.

Nobody is asked: a pool's Nodes have the version that the pool had when the plan began, until its
provider is counted as done.
"""

from __future__ import annotations

from collections.abc import Callable

from kapy.api.machine_pool import MachinePool
from kapy.apps.plan.objects import Objects
from kapy.apps.plan.snapshot import Snapshot
from kapy.kube import Document, Key
from kapy.kube.names import Resource


class PaperNodes:
    """Versions of Nodes by their names; one pool's Node is never another one's."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def read(self, snapshot: Snapshot) -> None:
        """Every Node has the version that its pool wants now."""
        for pool in Objects(snapshot).all(MachinePool):
            self.upgrade(pool)

    def upgrade(self, pool: MachinePool) -> None:
        """The Nodes of a pool are as it wants them."""
        version = pool.spec.template.spec.version
        self._versions |= {ref.name: version for ref in pool.status.node_refs}

    def are_behind(self, pool: MachinePool) -> bool:
        """Whether a Node of the pool has another version than it."""
        version = pool.spec.template.spec.version
        return any(self._versions.get(ref.name) != version for ref in pool.status.node_refs)

    # what a topology asks (kapy.core.topology.upgrading.Workloads)

    def informer(self, cluster: Key, resource: Resource) -> PaperNodes:  # noqa: ARG002
        """The Nodes of any cluster."""
        return self

    def raw(self, key: Key) -> Document | None:
        """A Node, as far as a topology looks at it."""
        version = self._versions.get(key.name)
        return None if version is None else {"status": {"nodeInfo": {"kubeletVersion": version}}}

    def subscribe(self, handler: Callable[[Key], None]) -> Callable[[], None]:  # noqa: ARG002
        """Connections never change here: what becomes of pools is written to them."""
        return lambda: None
