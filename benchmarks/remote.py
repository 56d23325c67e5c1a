"""Connections to many workload clusters over TLS: their cost, and what dead ones cost others."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Costs, percentile, resident
from benchmarks.workload_servers import address
from kapy._aio.clock import system_clock
from kapy.apiserver.server import Server
from kapy.cli.event_loop import run
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.client.rate_limit import RateLimited
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists
from kapy.kube.http import ADMIN
from kapy.kube.names import NAMESPACES, NODES, SECRETS
from kapy.kube.pki import issue, new_ca
from kapy.remote.cluster_cache import ClusterCache, NotConnected

Row = dict[str, Any]
IDLE_SECONDS: Final = 20.0
REST_SECONDS: Final = 12.0  # whoever waits for the dead has given up by then
PATIENCE: Final = 600.0


class Looking:
    """A controller that asks a cluster for its node, over the network, each time."""

    def __init__(self, runtime: Runtime) -> None:
        self.connections = ClusterCache(runtime, dial=_dial)
        self.controller = runtime.add(Controller("look", self.look, concurrency=100))
        self.seen: dict[Key, tuple[float, float]] = {}

    async def look(self, cluster: Key) -> Result:
        """One reconcile."""
        await self.connections.client(cluster).get(NODES, Key("", "node"))
        self.seen[cluster] = time.perf_counter(), time.process_time()
        return DONE

    def watch(self, cluster: Key) -> bool:
        """Watch the nodes of a cluster; whether they have been read."""
        try:
            self.connections.watch(self.controller, cluster, NODES, _nobody)
        except NotConnected:
            return False
        return True

    async def looks(self, clusters: list[Key], *, dead: int) -> Row:
        """All clusters are asked at once; the seconds until each that is well has answered, and
        the CPU that all had taken by then."""
        self.seen.clear()
        began, cpu = time.perf_counter(), time.process_time()
        for cluster in clusters:
            self.controller.enqueue(cluster)
        await _until(clusters[dead:], self.seen.__contains__)
        await asyncio.sleep(REST_SECONDS)
        samples = [self.seen[cluster] for cluster in clusters[dead:]]
        took = [at - began for at, _ in samples]
        return {
            "wall_s": round(max(took), 3),
            "cpu_s": round(max(used for _, used in samples) - cpu, 3),
            "p50_s": round(percentile(took, 0.5), 3),
            "p99_s": round(percentile(took, 0.99), 3),
        }


async def reached(number: int, dead: int) -> list[Row]:
    """`number` clusters connected, watched, left alone; then `dead` of them die.

    On the loop that managers run on: asyncio's own keeps 256 KiB for every TLS connection.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, run, _reached(number, dead))


async def _reached(number: int, dead: int) -> list[Row]:
    clusters = [Key("default", f"c{element}") for element in range(number)]
    rows: list[Row] = []
    with _servers() as (process, port, authority):
        async with _program() as (looking, management):
            before = resident()
            with Costs().of() as cost:
                for item, cluster in enumerate(clusters):
                    url = f"https://{address(item)}:{port}"
                    await management.create(SECRETS, _secret(cluster.name, url, authority))
                await _until(clusters, lambda key: looking.connections.health(key).connected)
            rows.append({"step": "connected", **_cost(cost.wall, cost.cpu, before, number)})
            before = resident()
            with Costs().of() as cost:
                await _until(clusters, looking.watch)
            rows.append({"step": "nodes watched", **_cost(cost.wall, cost.cpu, before, number)})
            rows.append({"step": "idle", **await _idle()})
            rows.append({"step": "all well", **await looking.looks(clusters, dead=dead)})
            rows.append({"step": "all well again", **await looking.looks(clusters, dead=dead)})
            assert process.stdin is not None
            process.stdin.write(f"{dead}\n")
            process.stdin.flush()
            for step in (f"{dead} die", f"{dead} are dead"):
                rows.append({"step": step, **await looking.looks(clusters, dead=dead)})
            rows.append({"step": f"idle, {dead} are dead", **await _idle()})
    return rows


def _dial(access: Kubeconfig) -> RateLimited:
    return RateLimited(ApiTransport(access), qps=20, burst=30)


def _cost(wall: float, cpu: float, before: int, number: int) -> Row:
    kib = (resident() - before) / 1024 / number
    return {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2), "kib_each": round(kib, 1)}


async def _idle() -> Row:
    await asyncio.sleep(5)
    with Costs().of() as cost:
        await asyncio.sleep(IDLE_SECONDS)
    return {"wall_s": IDLE_SECONDS, "millicores": round(1000 * cost.cpu / IDLE_SECONDS, 1)}


async def _until(clusters: list[Key], is_well: Callable[[Key], bool]) -> None:
    """Every cluster is asked each time: that is what makes some of them well."""
    async with asyncio.timeout(PATIENCE):
        clusters_left = clusters
        while clusters_left := [cluster for cluster in clusters_left if not is_well(cluster)]:  # noqa: ASYNC110
            await asyncio.sleep(1)  # each round costs, too


def _nobody(_cluster: Key, _change: Change) -> tuple[Key, ...]:
    return ()


@contextmanager
def _servers() -> Iterator[tuple[subprocess.Popen[str], int, bytes]]:
    """The workload clusters' process, their port, and whom to trust."""
    now = system_clock()
    authority = new_ca("benchmark", now=now, algorithm="ECDSA-P256")
    names = ["workload"]
    pair = issue(authority, "w", now=now, names=names, usages=("server",), algorithm="ECDSA-P256")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.pem"
        path.write_bytes(pair.certificate + pair.key)
        with subprocess.Popen(
            [sys.executable, "-m", "benchmarks.workload_servers", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                yield process, int(process.stdout.readline()), authority.certificate
            finally:
                process.terminate()


@asynccontextmanager
async def _program() -> AsyncIterator[tuple[Looking, Client]]:
    server = Server.open(None, clock=system_clock)
    management = Client(server.transport(ADMIN))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(server.run())]
        await asyncio.sleep(0.1)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        with suppress(AlreadyExists):
            await management.create(NAMESPACES, namespace)
        runtime = Runtime.on(server.transport(ADMIN), clock=system_clock)
        looking = Looking(runtime)
        tasks += [group.create_task(item()) for item in (runtime.run, looking.connections.run)]
        await runtime.working.wait()
        yield looking, management
        for task in tasks:
            task.cancel()
    server.close()


def _secret(cluster: str, url: str, authority: bytes) -> Document:
    trusted = base64.b64encode(authority).decode()
    text = f"""
{{apiVersion: v1, kind: Config, current-context: x,
 clusters: [{{name: c, cluster: {{server: "{url}", tls-server-name: workload,
   certificate-authority-data: {trusted}}}}}],
 users: [{{name: u, user: {{token: t}}}}],
 contexts: [{{name: x, context: {{cluster: c, user: u}}}}]}}
"""
    metadata = {
        "name": f"{cluster}-kubeconfig",
        "namespace": "default",
        "labels": {"cluster.x-k8s.io/cluster-name": cluster},
    }
    data = {"value": base64.b64encode(text.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
