"""The loop that runs the workload controllers of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kapy.apiserver.controllers.workloads import endpoint_slices, endpoints
from kapy.apiserver.controllers.workloads.workloads import TABLES, Workloads
from kapy.apiserver.server import Server
from kapy.apiserver.store.history import Happening
from kapy.kube import Document


class _OfServer(Workloads):
    """The workloads of a server. excluded: reports objects that another controller manages."""

    __slots__ = ("_excluded",)

    def __init__(self, server: Server, excluded: Callable[[Document], bool]) -> None:
        super().__init__(server)
        self._excluded = excluded

    def is_excluded(self, document: Document) -> bool:
        return self._excluded(document)


class WorkloadControllers:
    """The workload controllers of one server.

    excluded: reports objects that another controller manages.
    """

    def __init__(self, server: Server, excluded: Callable[[Document], bool]) -> None:
        self._store = server.store
        self._workloads = _OfServer(server, excluded)
        self._endpoints_changed = True
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Reconcile after every write to a relevant table, until cancelled."""
        self._workloads.begin()
        self._store.listeners.append(self._noticed)
        try:
            while True:
                self._wake.clear()
                self._work()
                if self._workloads.is_dirty:
                    await asyncio.sleep(0)
                else:
                    await self._woken()
        finally:
            self._store.listeners.remove(self._noticed)

    def _work(self) -> None:
        if self._workloads.is_dirty:
            self._workloads.work()
        if self._endpoints_changed:
            self._endpoints_changed = False
            endpoint_slices.write_slices(self._workloads)
            endpoints.write_endpoints(self._workloads)

    async def _woken(self) -> None:
        """Wait for a write, or for the deadline of a rollout (which needs a timer)."""
        due = self._workloads.next_look
        if due is None:
            await self._wake.wait()
            return
        seconds = (due - self._workloads.plane.clock()).total_seconds()
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._wake.wait()
        except TimeoutError:
            self._workloads.is_dirty = True

    def _noticed(self, one: Happening) -> None:
        if one.table in TABLES:
            self._workloads.is_dirty = True
            self._wake.set()
        if one.table in endpoint_slices.TABLES:
            self._endpoints_changed = True
            self._wake.set()
