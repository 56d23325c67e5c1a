"""Clusters come, change and go."""

from __future__ import annotations

import asyncio
from typing import Any

from benchmarks.fleet import Fleet, Shape, fleet, names
from benchmarks.measure import Measured, peak, percentile, resident
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.kube import Document, Key

Row = dict[str, Any]
IDLE_SECONDS = 20.0


async def create_and_delete(number: int, shape: Shape) -> list[Row]:
    """`number` clusters posted at once, until all are Available; a while of idling; deletion."""
    async with fleet() as herd:
        rows = [await _created(herd, number, shape)]
        if number in (50, 1000):
            rows.append(await _idle(herd, number))
        with herd.costs.of() as cost:
            await herd.delete(names(number))
        rows.append({"step": "delete", **cost.as_row(), "each_s": cost.wall / number})
        return rows


async def _created(herd: Fleet, number: int, shape: Shape) -> Row:
    base = resident()
    with herd.costs.of() as cost:
        took = await herd.create(shape, names(number))
    half = sorted(took)[len(took) // 2 :]
    return {
        "step": "create",
        **cost.as_row(),
        "clusters": number,
        "p50_s": round(percentile(took, 0.5), 4),
        "p99_s": round(percentile(took, 0.99), 4),
        "clusters_per_s": round(number / cost.wall, 2),
        "second_half_s": round(half[-1] - half[0], 4),
        "base_mb": round(base / 2**20, 1),
        "peak_mb": round(peak() / 2**20, 1),
        "mb_per_cluster": round((cost.rss_after - base) / 2**20 / number, 3),
        "cpu_s_per_cluster": round(cost.cpu / number, 4),
        "requests_per_cluster": round(cost.requests.total() / number, 1),
    }


async def _idle(herd: Fleet, number: int) -> Row:
    # No event tells that all work is done: wait for a moment.
    await asyncio.sleep(5)
    with herd.costs.of() as cost:
        await asyncio.sleep(IDLE_SECONDS)
    millicores = 1000 * cost.cpu / cost.wall
    return {"step": "idle", **cost.as_row(), "clusters": number, "millicores": round(millicores, 2)}


async def scale_workers(start: int, most: int) -> list[Row]:
    """One MachineDeployment out and in again."""
    async with fleet() as herd:
        await herd.create(Shape(workers=start), names(1))
        return [await _workers(herd, start, most), await _workers(herd, most, start)]


async def _workers(herd: Fleet, before: int, after: int) -> Row:
    key = Key("default", f"{names(1)[0]}-md-0")
    with herd.costs.of() as cost:
        await herd.client.patch(MachineDeployment, key, {"spec": {"replicas": after}})
        await herd.until(MachineDeployment.RESOURCE, lambda document: _settled(document, key))
    return {"step": f"workers {before} to {after}", **_each(cost, abs(after - before))}


async def roll_out(workers: int) -> list[Row]:
    """Every worker replaced, a tenth at a time and one at a time (the default)."""
    async with fleet() as herd:
        await herd.create(Shape(workers=workers), names(1))
        return [
            await _replaced(herd, workers, surge, version)
            for surge, version in (("10%", "v1.34.1"), (1, "v1.34.2"))
        ]


async def _replaced(herd: Fleet, workers: int, surge: int | str, version: str) -> Row:
    key = Key("default", f"{names(1)[0]}-md-0")
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 0}}
    spec = {"rollout": {"strategy": strategy}, "template": {"spec": {"version": version}}}

    def done(document: Document) -> bool:
        versions = [item["version"] for item in document["status"].get("versions", ())]
        return _settled(document, key) and versions == [version]

    with herd.costs.of() as cost:
        await herd.client.patch(MachineDeployment, key, {"spec": spec})
        await herd.until(MachineDeployment.RESOURCE, done)
    return {"step": f"{workers} replaced, maxSurge {surge}", **_each(cost, workers)}


def _each(cost: Measured, machines: int) -> Row:
    return {**cost.as_row(), "cpu_ms_per_machine": round(1000 * cost.cpu / machines, 1)}


async def scale_control_plane(start: int, most: int) -> list[Row]:
    """A control plane out and in again."""
    async with fleet() as herd:
        await herd.create(Shape(workers=3), names(1))
        return [await _planes(herd, start, most), await _planes(herd, most, start)]


async def _planes(herd: Fleet, before: int, after: int) -> Row:
    key = _control_plane()
    with herd.costs.of() as cost:
        await herd.client.patch(KubeadmControlPlane, key, {"spec": {"replicas": after}})
        await herd.until(KubeadmControlPlane.RESOURCE, lambda document: _settled(document, key))
    return {"step": f"control planes {before} to {after}", **cost.as_row()}


async def upgrade(control_planes: int, workers: int) -> list[Row]:
    """The control plane, then the workers, one Kubernetes version up."""
    async with fleet() as herd:
        await herd.create(Shape(control_planes, workers), names(1))
        version = {"version": "v1.35.0"}
        plane, pool = _control_plane(), Key("default", f"{names(1)[0]}-md-0")
        with herd.costs.of() as cost:
            await herd.client.patch(KubeadmControlPlane, plane, {"spec": version})
            await herd.until(
                KubeadmControlPlane.RESOURCE,
                lambda document: (
                    _settled(document, plane) and document["status"].get("version") == "v1.35.0"
                ),
            )
            await herd.client.patch(
                MachineDeployment, pool, {"spec": {"template": {"spec": version}}}
            )
            await herd.until(MachineDeployment.RESOURCE, lambda document: _settled(document, pool))
        return [{"step": f"upgrade {control_planes} + {workers}", **cost.as_row()}]


def _control_plane() -> Key:
    return Key("default", f"{names(1)[0]}-control-plane")


def _settled(document: Document, key: Key) -> bool:
    """Whether every counter is as the spec wants it, and the status is of this spec."""
    if Key.of(document) != key:
        return False
    status, wanted = document.get("status") or {}, document["spec"].get("replicas")
    counters = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
    is_observed = status.get("observedGeneration") == document["metadata"]["generation"]
    return is_observed and all((status.get(name) or 0) == wanted for name in counters)
