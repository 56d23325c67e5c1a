"""The loop that runs the workload controllers of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kapy.apiserver.controllers.workloads import endpoints
from kapy.apiserver.controllers.workloads.pod_controllers import BY_TABLE
from kapy.apiserver.controllers.workloads.workloads import TABLES, Workloads
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document


class _ServerWorkloads(Workloads):
    """The workloads of a server. excluded: reports whether another controller manages an object."""

    __slots__ = ("_excluded",)

    def __init__(self, context: ServerContext, excluded: Callable[[Document], bool]) -> None:
        super().__init__(context, BY_TABLE)
        self._excluded = excluded

    def is_excluded(self, document: Document) -> bool:
        return self._excluded(document)


class WorkloadControllers:
    """The workload controllers of one server.

    excluded: reports whether another controller manages an object.
    """

    def __init__(self, context: ServerContext, excluded: Callable[[Document], bool]) -> None:
        self._store = context.store
        self._workloads = _ServerWorkloads(context, excluded)
        self._endpoints_changed = True
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Reconcile after every write to a relevant table, until cancelled."""
        self._workloads.start()
        self._store.listeners.append(self._on_write)
        try:
            while True:
                self._wake.clear()
                self._reconcile()
                if self._workloads.is_dirty:
                    await asyncio.sleep(0)
                else:
                    await self._wait_for_work()
        finally:
            self._store.listeners.remove(self._on_write)

    def _reconcile(self) -> None:
        if self._workloads.is_dirty:
            self._workloads.reconcile()
        if self._endpoints_changed:
            self._endpoints_changed = False
            endpoints.write_slices(self._workloads)
            endpoints.write_endpoints(self._workloads)

    async def _wait_for_work(self) -> None:
        """Wait for a write, or for the deadline of a rollout (which needs a timer)."""
        due = self._workloads.next_reconcile
        if due is None:
            await self._wake.wait()
            return
        seconds = (due - self._workloads.context.clock()).total_seconds()
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._wake.wait()
        except TimeoutError:
            self._workloads.is_dirty = True

    def _on_write(self, event: WriteEvent) -> None:
        if event.table in TABLES:
            self._workloads.is_dirty = True
            self._wake.set()
        if event.table in endpoints.TABLES:
            self._endpoints_changed = True
            self._wake.set()
