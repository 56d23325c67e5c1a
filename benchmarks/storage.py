"""The store: memory of each Machine, and the time to start with many of them."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.machines import MACHINES, machine
from benchmarks.measure import resident
from kapy._aio.clock import system_clock
from kapy.apiserver.server import Server
from kapy.apiserver.store.sqlite import Synchronous
from kapy.apps.admission import AdmissionRules
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN
from kapy.kube.names import NAMESPACES

Row = dict[str, Any]
MANY: Final = 10_000
_CONDITIONS: Final = (
    *("Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady"),
    *("NodeHealthy", "NodeReady", "Updating", "Paused", "Deleting"),
)


def status(number: int) -> Document:
    """The status that controllers write on a running Machine."""
    name, then = f"machine-{number:05}", f"2026-01-01T{number // 3600 % 24:02}:{number % 60:02}:00Z"
    return {
        "phase": "Running",
        "observedGeneration": 1,
        "lastUpdated": then,
        "nodeRef": {"name": name},
        "initialization": {"bootstrapDataSecretCreated": True, "infrastructureProvisioned": True},
        "nodeInfo": {
            **dict.fromkeys(("architecture", "bootID", "machineID", "systemUUID"), ""),
            **dict.fromkeys(("kernelVersion", "osImage", "operatingSystem"), ""),
            **dict.fromkeys(("kubeletVersion", "kubeProxyVersion"), "v1.34.0"),
            "containerRuntimeVersion": "",
        },
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": kind,
                "message": "",
                "lastTransitionTime": then,
                "observedGeneration": 1,
            }
            for kind in _CONDITIONS
        ],
    }


@asynccontextmanager
async def _serving(path: Path | None, synchronous: Synchronous = "NORMAL") -> AsyncIterator[Client]:
    server = Server.open(
        path, clock=system_clock, admission=(AdmissionRules(),), synchronous=synchronous
    )
    client = Client(server.transport(ADMIN), field_manager="driver")
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.run())
            await asyncio.sleep(0)
            await install_definitions(client)
            yield client
            running.cancel()
    finally:
        server.close()


async def _filled(client: Client, number: int) -> None:
    for item in range(number):
        await client.create(MACHINES, machine(item))
        key = Key("default", f"machine-{item:05}")
        await client.patch(MACHINES, key, {"status": status(item)}, subresource="status")


async def memory() -> list[Row]:
    """Bytes for each of many Machines, beyond their JSON: written, found at a start, then read."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            {"step": f"{MANY} Machines {how}", **(await _told("--memory", how, folder))}
            for how in ("written", "found", "read")
        ]


async def _weigh(how: str, folder: Path) -> Row:
    """Measure one row, in a process that does nothing else."""
    async with _serving(None) as client:  # warm-up: imports do not count
        await _filled(client, 10)
        await client.list(MACHINES, "default")
    gc.collect()
    before = resident()
    async with _serving(folder) as client:
        if how == "written":
            await _filled(client, MANY)
        if how == "read":
            await client.list(MACHINES, "default")
        gc.collect()
        used = (resident() - before) / MANY
        document = await client.get(MACHINES, Key("default", "machine-00001"))
    encoded = len(msgspec.json.encode(document))
    return {"bytes_per_object": round(used - encoded), "json_bytes": encoded}


async def start() -> list[Row]:
    """From the start of a process to its first answer, with nothing stored and with much."""
    rows = []
    for number in (0, MANY):
        with tempfile.TemporaryDirectory() as folder:
            async with _serving(Path(folder)) as client:
                await _filled(client, number)
            began = time.perf_counter()
            document = await _told("--start", folder)
            wall = time.perf_counter() - began
        rows.append({"step": f"start with {number} Machines", "wall_s": round(wall, 3), **document})
    return rows


async def _begin(folder: Path) -> Row:
    began = time.perf_counter()
    async with _serving(folder) as client:
        await client.list(NAMESPACES)
        return {"open_s": round(time.perf_counter() - began, 3), "cpu_s": time.process_time()}


async def _told(*arguments: str) -> Row:
    """Run this module in a process of its own, and return the row that it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.storage", *arguments), stdout=PIPE
    )
    out, _ = await process.communicate()
    row: Row = json.loads(out)
    return row


async def _main(what: str, *more: str) -> None:
    row = await (_begin(Path(more[0])) if what == "--start" else _weigh(more[0], Path(more[1])))
    print(json.dumps(row))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
