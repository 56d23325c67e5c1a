"""Simulates kube-controller-manager in a workload cluster: it collects garbage, empties namespaces
and maintains the Pods of workloads.

Most clusters never need it. So it runs only after an object was stored that needs it, or after a
request listed workloads; one run handles all pending work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kapy.apiserver.controllers.garbage_collector import GarbageCollector
from kapy.apiserver.controllers.namespaces import NamespaceController
from kapy.apiserver.controllers.workloads.workloads import TABLES
from kapy.apiserver.server import Server
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.providers.inmemory.workload.workloads import SimulatedWorkloads

QUIET: Final = 10
"""The number of turns of the event loop without a write after which the work is complete."""

_FIRST_TURNS: Final = 4
"""Turns of work before the first look is answered: ReplicaSets, their Pods, what is told of those.
A large cluster has more to do, which `tidy` does."""

_HELD: Final = frozenset(("foregroundDeletion", "orphan"))


class Housekeeping:
    """Notices when a server needs tidying. wake: called then, as often as that happens."""

    __slots__ = ("_deployed", "_owned", "_server", "_terminating", "_wake")

    def __init__(self, server: Server, wake: Callable[[], None]) -> None:
        self._server = server
        self._wake = wake
        self._deployed = SimulatedWorkloads(server.context)
        self._owned = False
        self._terminating: set[str] = set()
        server.store.listeners.append(self._notice)

    def begin(self) -> None:
        """Start to simulate workloads, so that the Pods of the add-ons exist."""
        self._deployed.start()
        for _ in range(_FIRST_TURNS):
            if self._deployed.is_dirty:
                self._deployed.reconcile()
        self._wake()

    async def tidy(self) -> None:
        """Collect garbage and empty terminating namespaces, until nothing changes any more."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(controller.run())
                for controller in (
                    GarbageCollector(self._server.context),
                    _namespaces(self._server),
                )
            ]
            revision, quiet = self._server.store.revision, 0
            while quiet < QUIET:
                if self._deployed.is_dirty:
                    self._deployed.reconcile()
                await asyncio.sleep(0)
                quiet = quiet + 1 if self._server.store.revision == revision else 0
                revision = self._server.store.revision
            for task in tasks:
                task.cancel()

    def _notice(self, write_event: WriteEvent) -> None:
        if write_event.table in TABLES and self._deployed.on_write(write_event):
            self._wake()
        metadata = write_event.document["metadata"]
        removal = write_event.change == "DELETED"
        if write_event.table == "namespaces":
            if removal:
                self._terminating.discard(write_event.name)
            elif metadata.get("deletionTimestamp"):
                self._terminating.add(write_event.name)
        if metadata.get("ownerReferences"):
            self._owned = True
        if (
            (self._owned and (removal or metadata.get("ownerReferences")))
            or (metadata.get("deletionTimestamp") and _HELD & {*metadata.get("finalizers", ())})
            or (
                self._terminating
                and (write_event.namespace or write_event.name) in self._terminating
            )
        ):
            self._wake()


def _namespaces(server: Server) -> NamespaceController:
    return NamespaceController(server.context)
