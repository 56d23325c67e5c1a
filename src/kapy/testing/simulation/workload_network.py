"""The network between a manager and workload clusters with their etcd: latencies and faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kapy.kube.errors import ServerError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.testing.simulation.network import (
    CLOCK_JUMP,
    DEADLINE,
    LATENCY,
    READS,
    ProcessEnded,
    ProcessNetwork,
    Surroundings,
    dated,
    loop_time,
    text_of,
)

DOWN: Final = 120.0
_TIMED_OUT: Final = ServerError("etcdserver: request timed out, possibly due to previous leader")
_SURROUNDINGS: Final[dict[str, Callable[[Surroundings], None]]] = {
    "workload-restored": lambda surroundings: surroundings.restore_workloads(),
    "etcd-leader-moved": lambda surroundings: surroundings.move_etcd_leaders(),
    "etcd-member-late": lambda surroundings: surroundings.delay_etcd_members(),
    "node-flapping": lambda surroundings: surroundings.flap_nodes(),
}


class WorkloadNetwork(ProcessNetwork):
    """The connection of one process to a workload cluster, or to a member of its etcd."""

    __slots__ = ()

    async def __call__(self, request: Request) -> Reply:
        process, shared = self._process, self._shared
        await asyncio.sleep(shared.latency(f"{process.manager}/workload", LATENCY))
        if not process.is_alive:
            raise ProcessEnded("the process has ended")
        fault = None
        if "watch" not in request.query:
            fault = shared.fault(process, "k", request)
        kind = "" if fault is None else fault.kind
        self._begin(kind)
        await self._refuse()
        if kind == "lost-request":
            raise Unreachable("the request was lost")
        reply = await self.transport(request)
        if request.method not in READS:
            shared.trace.add(
                "workload write",
                by=process.manager,
                request=text_of(request),
                status=reply.status,
            )
        if kind == "lost-reply":
            raise Unreachable("the reply was lost")
        return dated(reply, shared.workload_clock())

    def _begin(self, kind: str) -> None:
        """Begin a fault that lasts for a while."""
        state, shared = self._process.state, self._shared
        until = loop_time() + DOWN
        match kind:
            case "workload-down":
                state.workload_down_until = until
            case "workload-silent":
                state.workload_silent_until = until
            case "etcd-quorum-lost":
                shared.server.etcd_down_until = until
            case "workload-ahead":
                shared.workload_clock_error += CLOCK_JUMP
            case "workload-behind":
                shared.workload_clock_error -= CLOCK_JUMP
        if kind in _SURROUNDINGS:
            assert shared.surroundings is not None
            _SURROUNDINGS[kind](shared.surroundings)

    async def _refuse(self) -> None:
        """Raise the error of a fault that goes on."""
        state = self._process.state
        if loop_time() < state.workload_down_until:
            raise Unreachable("the workload cluster does not answer")
        if loop_time() < state.workload_silent_until:
            await asyncio.sleep(DEADLINE)
            raise Unreachable("the request timed out")
        if loop_time() < self._shared.server.etcd_down_until:
            raise _TIMED_OUT
