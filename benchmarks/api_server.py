"""The API server alone: single requests of Machines of about 0.9 KB, in process and over HTTPS."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Costs, percentile
from kapy._aio.clock import system_clock
from kapy.api.machine import Machine
from kapy.apiserver.authentication import Authentication
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apps.admission import Rules
from kapy.apps.credentials import credentials
from kapy.apps.definitions import install_definitions
from kapy.apps.settings import Serving
from kapy.client.client import Client
from kapy.client.https import Https
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN

Row = dict[str, Any]
OBJECTS: Final = 2000
MACHINES: Final = Machine.RESOURCE


def machine(number: int) -> Document:
    """A Machine as controllers create it."""
    name = f"machine-{number:05}"
    return {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": "herd", "pool": f"p{number % 10}"},
            "annotations": {"example.com/note": "x" * 380},
            "finalizers": ["example.com/keep"],
        },
        "spec": {
            "clusterName": "herd",
            "version": "v1.34.0",
            "bootstrap": {"dataSecretName": name},
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "DevMachine",
                "name": name,
            },
        },
    }


async def in_process() -> list[Row]:
    """No bytes, no sockets: what a controller of the same process pays. In memory and on disk."""
    rows = []
    for place in ("memory", "disk"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) if place == "disk" else None
            server = Server.open(path, clock=system_clock, admission=(Rules(),))
            client = Client(server.transport(ADMIN), field_manager="driver")
            async with asyncio.TaskGroup() as group:
                running = group.create_task(server.run())
                await asyncio.sleep(0)
                await install_definitions(client)
                rows += await _requests(client, f"in process, {place}", at_once=1)
                running.cancel()
            server.close()
    return rows


async def over_https() -> list[Row]:
    """The server in a process of its own, on disk; CPU is the server's."""
    async with _server() as (access, cpu):
        transport = Https(access)
        client = Client(transport, field_manager="driver")
        rows = await _requests(client, "HTTPS, disk", at_once=16, cpu=cpu)
        await transport.aclose()
    return rows


async def _requests(
    client: Client, where: str, *, at_once: int, cpu: Callable[[], float] = time.process_time
) -> list[Row]:
    def get(number: int) -> Awaitable[Any]:
        return client.get(MACHINES, Key("default", f"machine-{number:05}"))

    def label(number: int) -> Awaitable[Any]:
        patch = {"metadata": {"labels": {"turn": str(number)}}}
        return client.patch(MACHINES, Key("default", f"machine-{number:05}"), patch)

    def drop(number: int) -> Awaitable[Any]:
        patch = {"metadata": {"finalizers": None}}
        return client.patch(MACHINES, Key("default", f"machine-{number:05}"), patch)

    def delete(number: int) -> Awaitable[Any]:
        return client.delete(MACHINES, Key("default", f"machine-{number:05}"))

    rows = []
    # Without its finalizer a Machine that is not being deleted stays; a delete then is one write.
    for verb, ask, number in (
        ("CREATE", lambda one: client.create(MACHINES, machine(one)), OBJECTS),
        ("GET", get, OBJECTS),
        ("PATCH", label, OBJECTS),
        (f"LIST of {OBJECTS}", lambda _: client.list(MACHINES, "default"), 20),
        ("PATCH finalizer", drop, OBJECTS),
        ("DELETE", delete, OBJECTS),
    ):
        rows.append({"step": f"{verb}, {where}", **await _timed(ask, number, at_once, cpu)})
    return rows


async def _timed(
    ask: Callable[[int], Awaitable[Any]], number: int, at_once: int, cpu: Callable[[], float]
) -> Row:
    took: list[float] = []
    turns = iter(range(number))

    async def worker() -> None:
        for turn in turns:
            began = time.perf_counter()
            await ask(turn)
            took.append(time.perf_counter() - began)

    before = cpu()
    with Costs().of() as cost:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())
    spent = cpu() - before
    return {
        "wall_s": round(cost.wall, 4),
        "cpu_s": round(spent, 4),
        "per_s": round(number / cost.wall),
        "p50_us": round(1e6 * percentile(took, 0.5), 1),
        "p99_us": round(1e6 * percentile(took, 0.99), 1),
        "cpu_us_per_request": round(1e6 * spent / number, 1),
    }


@asynccontextmanager
async def _server() -> AsyncIterator[tuple[Kubeconfig, Callable[[], float]]]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.api_server"), stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None
    told = json.loads(await process.stdout.readline())
    access = Kubeconfig(
        told["server"], *(told[name].encode() for name in ("ca", "certificate", "key"))
    )
    try:
        yield access, lambda: _cpu_of(process.pid)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def _cpu_of(pid: int) -> float:
    """CPU seconds of another process, NaN where /proc is not there."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _serve() -> None:
    """The server of a process of its own: no controllers, which would work on what we create."""
    serving = Serving()
    made = credentials(serving, system_clock())
    tls = server_context(made.server.certificate, made.server.key, made.authority.certificate)
    with tempfile.TemporaryDirectory() as folder:
        server = Server.open(Path(folder), clock=system_clock, admission=(Rules(),))
        listening = listen(Application(server, Authentication()), tls=tls)
        async with asyncio.TaskGroup() as group, listening as (host, port):
            running = group.create_task(server.run())
            await asyncio.sleep(0)
            await install_definitions(Client(server.transport(ADMIN)))
            told = {
                "server": f"https://{host}:{port}",
                "ca": made.authority.certificate.decode(),
                "certificate": made.administrator.certificate.decode(),
                "key": made.administrator.key.decode(),
            }
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
            running.cancel()
        server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
