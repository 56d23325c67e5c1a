"""The life of a fleet on disk: creation, rest, a change of one cluster, a restart, and deletion.

The plane runs in a process of its own before the restart and in another one after it, so that its
memory and its start are those of a new process.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.fleet import Fleet, Shape, fleet, names
from benchmarks.measure import percentile
from benchmarks.processes import cpu_seconds, resident_bytes, running_workers
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.client.client import Client
from kapy.engine.idle_packing import INTERVAL
from kapy.kube import Key

Row = dict[str, Any]
SHAPE: Final = Shape(keys="ECDSA-P256")
FEW: Final = 10
"""Clusters of the small fleet, with which a change in the large one is compared."""
IDLE_SECONDS: Final = 60.0
REST_PERCENT: Final = 1.0
"""A plane has settled when it takes no more of a core for `REST_SECONDS`."""
REST_SECONDS: Final = 10.0
PACKED_SECONDS: Final = 2.5 * INTERVAL
"""Seconds after which two passes have packed what nobody reads."""
PATIENCE_SECONDS: Final = 900.0
_BEFORE, _AFTER = "before", "after"


async def live(number: int, processes: int) -> list[Row]:
    """The life of `number` clusters of one control plane machine; one row for each step."""
    with tempfile.TemporaryDirectory(prefix="kapy-bench-") as folder:
        rows = await asyncio.to_thread(_run_part, _BEFORE, folder, number, processes)
        return rows + await asyncio.to_thread(_run_part, _AFTER, folder, number, processes)


def _run_part(part: str, folder: str, number: int, processes: int) -> list[Row]:
    """Run a part of the life in a new process. Raises CalledProcessError."""
    command = [sys.executable, "-m", "benchmarks.lifetime", part, folder, str(number)]
    began = repr(time.perf_counter())  # one clock for all processes of the machine
    done = subprocess.run(
        [*command, str(processes), began], stdout=subprocess.PIPE, text=True, check=True
    )
    rows: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return rows


@dataclass
class Spent:
    """The cost of a step in all processes: seconds, and requests to the API server."""

    wall: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    requests: float = 0.0


class Plane:
    """A plane under measurement, and its processes by name."""

    def __init__(self, herd: Fleet, pids: dict[str, int]) -> None:
        self.herd = herd
        self._pids = pids

    @contextmanager
    def cost(self) -> Iterator[Spent]:
        """Measure the block."""
        spent, before, began = Spent(), self._cpu(), time.perf_counter()
        requests = self._requests()
        try:
            yield spent
        finally:
            spent.wall = time.perf_counter() - began
            spent.cpu = {name: value - before[name] for name, value in self._cpu().items()}
            spent.requests = self._requests() - requests

    def memory(self) -> dict[str, float]:
        """Return the resident memory of all processes in MB, and the most that each one had."""
        return {
            "mb": round(sum(map(resident_bytes, self._pids.values())) / 2**20, 1),
            "peak_mb": round(sum(map(_peak_bytes, self._pids.values())) / 2**20, 1),
            **{
                f"mb_{name}": round(resident_bytes(pid) / 2**20, 1)
                for name, pid in self._pids.items()
            },
        }

    async def settle(self, *, at_least: float = 0.0) -> float:
        """Wait until the plane rests; return the seconds that this took."""
        began = time.perf_counter()
        await asyncio.sleep(at_least)
        while time.perf_counter() - began < PATIENCE_SECONDS:
            with self.cost() as spent:
                await asyncio.sleep(REST_SECONDS)
            if 100 * sum(spent.cpu.values()) / spent.wall < REST_PERCENT:
                break
        return time.perf_counter() - began - REST_SECONDS

    def since(self, began: float, step: str) -> Row:
        """Return the row of a step that lasted from a time before the start of all processes."""
        cpu = sum(self._cpu().values())
        wall = time.perf_counter() - began
        return {"step": step, "wall_s": round(wall, 2), "cpu_s": round(cpu, 2), **self.memory()}

    def _cpu(self) -> dict[str, float]:
        return {name: cpu_seconds(pid) for name, pid in self._pids.items()}

    def _requests(self) -> float:
        families = self.herd.plane.server.families.collect()
        return sum(
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == "apiserver_request_total"
        )


@asynccontextmanager
async def _plane(folder: str, processes: int) -> AsyncIterator[Plane]:
    async with fleet(processes, Path(folder)) as herd:
        workers = await running_workers(herd)
        yield Plane(herd, {"plane": os.getpid(), **{item.name: item.pid for item in workers}})


async def _before(folder: str, number: int, processes: int, _: float) -> list[Row]:
    async with _plane(folder, processes) as plane:
        few = [f"few-{item}" for item in range(FEW)]
        await plane.herd.create(SHAPE, few)
        rows = [await _changed(plane, few[:3], f"a change among {FEW}")]
        with plane.cost() as spent:
            took = await plane.herd.create(SHAPE, names(number))
        rows.append(
            {
                **_row("create", spent, number),
                "clusters_per_s": round(number / spent.wall, 2),
                "p50_s": round(percentile(took, 0.5), 3),
                "p99_s": round(percentile(took, 0.99), 3),
                **plane.memory(),
            }
        )
        seconds = await plane.settle(at_least=PACKED_SECONDS)
        with plane.cost() as spent:
            await asyncio.sleep(IDLE_SECONDS)
        percent = 100 * sum(spent.cpu.values()) / spent.wall
        rows.append(
            {
                **_row("idle", spent, number),
                "core_percent": round(percent, 3),
                "settled_after_s": round(seconds, 1),
                **plane.memory(),
            }
        )
        rows.append(await _changed(plane, names(number)[:3], f"a change among {number:,}"))
    return rows


async def _after(folder: str, number: int, processes: int, began: float) -> list[Row]:
    async with _plane(folder, processes) as plane:
        # All informers have synced when the plane's context is entered, and those of a worker
        # when it runs.
        rows = [plane.since(began, "restart")]
        await plane.settle()
        rows.append(plane.since(began + REST_SECONDS, "all reconciled after the restart"))
        with plane.cost() as spent:
            await plane.herd.delete(names(number))
        rate = {"clusters_per_s": round(number / spent.wall, 2)}
        rows.append({**_row("delete", spent, number), **rate, **plane.memory()})
    return rows


async def _changed(plane: Plane, clusters: list[str], step: str) -> Row:
    """Give each cluster two control plane machines more; take the time until the last status."""
    took: list[float] = []
    with plane.cost() as spent:
        for name in clusters:
            began = time.perf_counter()
            await _scale(plane.herd.client, Key("default", f"{name}-control-plane"), 3)
            took.append(time.perf_counter() - began)
    return {**_row(step, spent, len(clusters)), "median_s": round(median(took), 4)}


async def _scale(client: Client, key: Key, replicas: int) -> None:
    """Scale a control plane, and wait for the status that says that it is done."""
    resource = KubeadmControlPlane.RESOURCE
    changed = await client.patch(resource, key, {"spec": {"replicas": replicas}})
    watch = client.watch(
        resource,
        key.namespace,
        resource_version=changed["metadata"]["resourceVersion"],
        fields=f"metadata.name={key.name}",
    )
    async with watch as events:
        async for event in events:
            status = event.document.get("status") or {}
            if status.get("availableReplicas") == replicas:
                return


def _row(step: str, spent: Spent, number: int) -> Row:
    return {
        "step": step,
        "clusters": number,
        "wall_s": round(spent.wall, 3),
        "cpu_s": round(sum(spent.cpu.values()), 3),
        "cpu_ms_per_cluster": round(1000 * sum(spent.cpu.values()) / number, 2),
        **{
            f"cpu_ms_per_cluster_{name}": round(1000 * value / number, 2)
            for name, value in spent.cpu.items()
        },
        "requests_total": round(spent.requests),
        "requests_per_cluster": round(spent.requests / number, 2),
        "load": round(os.getloadavg()[0], 1),
    }


def _peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    """Run a part of the life and print its rows as JSON."""
    part, folder, number, processes, began = sys.argv[1:]
    run = _before if part == _BEFORE else _after
    print(json.dumps(asyncio.run(run(folder, int(number), int(processes), float(began)))))


if __name__ == "__main__":
    main()
