"""Faults of what surrounds the managers: API servers that are restored, etcd members, Nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.times import stamp
from kapy.kube.names import NODES
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.testing.simulation.backups import Backups, Loss, rewind
from kapy.testing.simulation.etcd import DurableEtcd
from kapy.testing.simulation.trace import Trace

FLAP: Final = 10.0
FLAPS: Final = 6
LATE_START: Final = 30.0
LATE_STARTS: Final = 300.0
"""Seconds for which new members of etcd start late."""


class OutsideFaults:
    """The faults of one run. workloads: returns the workload clusters. clock: theirs. on_loss:
    called after a restore that has lost writes."""

    def __init__(
        self,
        backups: Backups,
        workloads: Callable[[], list[WorkloadCluster]],
        clock: Clock,
        trace: Trace,
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
    ) -> None:
        self._backups = backups
        self.on_loss: list[Callable[[Loss], None]] = []
        self._workloads = workloads
        self._clock = clock
        self._trace = trace
        self._spawn = spawn

    def restore_server(self) -> None:
        """Restore the management cluster's API server from a backup: resourceVersions go back."""
        self._backups.rewind()

    def restore_backup(self) -> None:
        """Restore the management cluster's API server from a backup of some seconds ago."""
        loss = self._backups.restore()
        names = sorted(
            f"{document['kind']}/{document['metadata']['name']}" for document in loss.objects
        )
        self._trace.add("restored", lost=names)
        for notice in self.on_loss:
            notice(loss)

    def restore_workloads(self) -> None:
        """Restore the API servers of workload clusters."""
        for workload in self._workloads():
            rewind(workload.server.store)

    def move_etcd_leaders(self) -> None:
        """Let etcd of each workload cluster elect another leader."""
        for etcd in self._etcds():
            etcd.elect_another()

    def delay_etcd_members(self) -> None:
        """Let the next members of etcd be listed for a while before they start."""
        loop = asyncio.get_running_loop()
        for etcd in self._etcds():
            etcd.starts_after = LATE_START
            loop.call_later(LATE_STARTS, setattr, etcd, "starts_after", 0.0)

    def flap_nodes(self) -> None:
        """Let a Node of each workload cluster be ready and not ready in turn for a while."""
        for workload in self._workloads():
            self._spawn(partial(self._flap, workload))

    async def _flap(self, workload: WorkloadCluster) -> None:
        names = sorted(workload.machines)
        for number in range(2 * FLAPS):
            status = "True" if number % 2 else "False"
            if names:
                self._trace.add("cloud", does=f"node ready {status}", machine=names[-1])
                set_node_ready(workload, names[-1], status, self._clock)
            await asyncio.sleep(FLAP)

    def _etcds(self) -> list[DurableEtcd]:
        return [
            workload.etcd
            for workload in self._workloads()
            if isinstance(workload.etcd, DurableEtcd)
        ]


def set_node_ready(workload: WorkloadCluster, name: str, status: str, clock: Clock) -> None:
    """Let the kubelet of a machine report whether its Node is ready; nothing without a Node."""
    node = workload.objects.get(NODES, "", name)
    if node is None:
        return
    conditions = [
        {**condition, "status": status, "lastTransitionTime": stamp(clock())}
        if condition["type"] == "Ready"
        else condition
        for condition in node["status"]["conditions"]
    ]
    changed = {
        **node,
        "metadata": dict(node["metadata"]),
        "status": {**node["status"], "conditions": conditions},
    }
    context = workload.server.context
    context.store.put(context.store.table("nodes"), "", name, changed)
