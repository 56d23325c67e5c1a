"""Real clusters: kapy beside `kubeadm` typed by hand, in containers of the same engine.

    python -m benchmarks real

Needs what `make test-real` needs. Runs in a network namespace of its own, which nothing leaves.
With KAPY_REAL_UPSTREAM set, upstream's docker manager is measured, too, below kapy's core,
bootstrap and control plane: what it takes longer than kapy is its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

ROUNDS: Final = int(os.environ.get("KAPY_BENCH_ROUNDS", "2"))
HERE: Final = Path(__file__).resolve().parents[1] / "tests" / "real_clusters"
NETWORK: Final = HERE / "network.yaml"
MACHINES: Final = 2
MORE: Final = 2
"""Workers that are added afterwards."""
POLL: Final = 0.25
"""Seconds. A timer, because this is a measurement: it looks at kapy as strangers do."""

if TYPE_CHECKING:
    from kapy.apps.all_in_one import ManagementPlane

Row = dict[str, Any]


async def compared() -> list[Row]:
    """Both in turns, in a namespace that is entered before."""
    from tests.real_clusters import parts

    if lacks := parts.missing():
        raise SystemExit(lacks)
    parts.main()
    script = 'ip link set lo up && exec "$@"'
    process = await asyncio.create_subprocess_exec(
        *("unshare", "--net", "--mount", "--propagation", "slave", "sh", "-c", script, "sh"),
        *(sys.executable, "-m", "benchmarks.real"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    message = (await process.stdout.read()).decode()
    if await process.wait():
        raise SystemExit("the clusters of the benchmark failed")
    rows: list[Row] = json.loads(message.splitlines()[-1])
    return rows


async def _in_turns() -> list[Row]:
    from tests.real_clusters.by_hand import HandMade
    from tests.real_clusters.engine import container_engine
    from tests.real_clusters.parts import UPSTREAM
    from tests.real_clusters.upstream import complete_images, upstreams_manager

    results: dict[str, list[Row]] = {"by hand": [], "kapy": []}
    upstream = bool(os.environ.get(UPSTREAM))
    with TemporaryDirectory(prefix="kapy-bench-") as folder:
        async with container_engine(Path(folder)) as engine:
            os.environ["DOCKER_HOST"] = engine.address
            if upstream:
                await complete_images(engine)
            for _ in range(ROUNDS):
                hand = HandMade(engine)
                await hand.create(NETWORK.read_text())
                await hand.delete()
                steps = {step: round(seconds, 1) for step, seconds in hand.times.items()}
                results["by hand"].append({"wall_s": sum(hand.times.values()), "steps": steps})
                results["kapy"].append(await _through_kapy())
                if upstream:
                    row = await _through_kapy(below=partial(upstreams_manager, engine=engine))
                    results.setdefault("upstream's docker manager", []).append(row)
    return [_summary(who, rows) for who, rows in results.items()]


def _summary(who: str, rows: list[Row]) -> Row:
    best = min(rows, key=lambda row: float(row["wall_s"]))
    all_of_them = [round(row["wall_s"], 1) for row in rows]
    return {"step": f"1 + 1 Nodes Ready, {who}", **best, "all_s": all_of_them}


async def _through_kapy(below: Callable[..., Any] | None = None) -> Row:
    """below: another infrastructure provider's manager, for a plane and a folder."""
    from kapy._aio.clock import system_clock
    from kapy.api.cluster import Cluster
    from kapy.apps.all_in_one import management_plane
    from kapy.apps.manifests import read_manifests
    from kapy.apps.settings import ControllerConfig, ManagerName, Serving, Settings
    from kapy.client.kinds import Kinds
    from kapy.kube import Key
    from kapy.kube.names import CONFIG_MAPS
    from tests.real_clusters.by_hand import nodes_ready
    from tests.real_clusters.growing import manifest
    from tests.real_clusters.parts import OLD

    cluster = Key("default", "real")
    ours: frozenset[ManagerName] = frozenset(["infrastructure-dev"])
    controlling = ControllerConfig(disabled_managers=frozenset() if below is None else ours)
    settings = Settings(serving=Serving(), controllers=controlling)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(management_plane(settings, clock=system_clock))
        if below is not None:
            folder = stack.enter_context(TemporaryDirectory(prefix="kapy-bench-"))
            await stack.enter_async_context(below(plane, folder=Path(folder)))
        kinds = Kinds(plane.client)
        network: Row = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "network", "namespace": "default"},
            "data": {"network.yaml": NETWORK.read_text()},
        }
        await plane.client.create(CONFIG_MAPS, network)
        began, cpu = time.perf_counter(), time.process_time()
        for document in read_manifests(manifest(OLD), "cluster.yaml"):
            await plane.client.create(await kinds.of(document), document)
        await nodes_ready(lambda: plane.cluster_cache.client(cluster), MACHINES)
        row = {
            "wall_s": time.perf_counter() - began,
            "cpu_s": time.process_time() - cpu,
            "cpu_s_each": round((time.process_time() - cpu) / MACHINES, 2),
        }
        row |= await _more_workers(plane)
        await plane.client.delete(Cluster.RESOURCE, cluster)
        while (await plane.client.list(Cluster.RESOURCE)).items:  # noqa: ASYNC110
            await asyncio.sleep(POLL)
        return row


async def _more_workers(plane: ManagementPlane) -> Row:
    """Workers that join side by side, in a program that has done so before."""
    from kapy.api.machine_deployment import MachineDeployment
    from kapy.kube import Key
    from tests.real_clusters.by_hand import nodes_ready

    began, cpu = time.perf_counter(), time.process_time()
    patch = {"spec": {"replicas": 1 + MORE}}
    await plane.client.patch(MachineDeployment.RESOURCE, Key("default", "workers"), patch)
    cluster = Key("default", "real")
    await nodes_ready(lambda: plane.cluster_cache.client(cluster), MACHINES + MORE)
    return {
        "more_s": round(time.perf_counter() - began, 1),
        "more_cpu_s_each": round((time.process_time() - cpu) / MORE, 2),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_in_turns())))
