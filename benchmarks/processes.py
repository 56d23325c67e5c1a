"""Clusters divided among the processes of a plane (`kapy up --processes N`)."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.fleet import Fleet, Shape, fleet, names
from kapy.apps.pidfile import WorkerRecord

Row = dict[str, Any]
WARM: Final = 10
"""Clusters before the measured ones: each process has compiled its schemas then."""
_HZ: Final = os.sysconf("SC_CLK_TCK")


async def create(number: int, processes: int, keys: str = "ECDSA-P256") -> list[Row]:
    """`number` clusters of one control plane machine posted at once, until all are Available."""
    async with fleet(processes) as herd:
        workers = await running_workers(herd)
        shape = Shape(keys=keys)
        await herd.create(shape, [f"warm-{item}" for item in range(WARM)])
        pids = {"plane": os.getpid(), **{worker.name: worker.pid for worker in workers}}
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        began = time.perf_counter()
        await herd.create(shape, names(number))
        wall = time.perf_counter() - began
        cpu = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
        return [
            {
                "step": "create",
                "clusters": number,
                "processes": processes,
                "wall_s": round(wall, 2),
                "clusters_per_s": round(number / wall, 2),
                "cpu_ms_per_cluster": round(1000 * sum(cpu.values()) / number, 1),
                "cpu_ms_of": {name: round(1000 * item / number, 1) for name, item in cpu.items()},
                "mb_of": {
                    name: round(resident_bytes(pid) / 2**20, 1) for name, pid in pids.items()
                },
                "load": round(os.getloadavg()[0], 1),
            }
        ]


async def running_workers(herd: Fleet) -> tuple[WorkerRecord, ...]:
    """Wait until all workers of the plane run; return them."""
    workers = herd.plane.processes.workers
    if workers is None:
        return ()
    while any(record.state != "running" for record in workers.records):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return workers.records


def cpu_seconds(pid: int) -> float:
    """Seconds of CPU of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _HZ


def resident_bytes(pid: int) -> int:
    """Return the memory that a process has now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
