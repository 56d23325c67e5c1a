"""The memory of an API server in this process, with many objects and many watchers."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from benchmarks.machines import MACHINES, PATH, machine
from benchmarks.measure import resident
from kapy._aio.clock import system_clock
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.http import ADMIN, Reply, Request

Row = dict[str, Any]
Ask = Callable[[str], Awaitable[Any]]
OBJECTS: Final = 10_000
WATCHERS: Final = 1_000
EVENTS: Final = 100
PAGE: Final = 500


async def measure() -> list[Row]:
    """10,000 objects, listed at once and in pages; 1,000 watchers of one hundred changes."""
    async with _served() as (server, client):
        base = resident()
        rows = [await _filled(client, base)]

        async def ask(query: str) -> Any:
            pairs = dict(part.partition("=")[::2] for part in query.split("&") if part)
            transport = server.transport(ADMIN)
            reply: Reply = await transport(Request("GET", PATH, pairs))
            assert reply.status == 200
            return reply.body

        rows.append(await _held(f"LIST of {OBJECTS}", lambda: ask("")))
        rows.append(await _held(f"{OBJECTS} in pages of {PAGE}", lambda: _paged(ask)))
        rows.append(await _watched(client, ask))
    return rows


@asynccontextmanager
async def _served() -> AsyncIterator[tuple[Server, Client]]:
    server = Server.open(None, clock=system_clock, admission=(AdmissionRules(),))
    client = Client(server.transport(ADMIN), field_manager="driver")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        await install_definitions(client)
        yield server, client
        running.cancel()
    server.close()


async def _filled(client: Client, base: int) -> Row:
    began = time.perf_counter()
    for number in range(OBJECTS):
        await client.create(MACHINES, machine(number))
    gc.collect()
    grown = resident() - base
    return {
        "step": f"{OBJECTS} Machines stored",
        "wall_s": round(time.perf_counter() - began, 3),
        "kib_each": round(grown / OBJECTS / 1024, 1),
        "rss_mb": round(resident() / 2**20, 1),
    }


async def _held(step: str, work: Callable[[], Awaitable[None]]) -> Row:
    """The peak memory of a piece of work, and its duration in a run without tracemalloc."""
    began = time.perf_counter()
    await work()
    wall = time.perf_counter() - began
    tracemalloc.start()
    await work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"step": step, "wall_s": round(wall, 4), "held_mb": round(peak / 2**20, 2)}


async def _paged(ask: Ask) -> None:
    token, count = "", 0
    while True:
        page = await ask(f"limit={PAGE}" + (f"&continue={token}" if token else ""))
        count += len(page["items"])
        token = page["metadata"].get("continue") or ""
        if not token:
            assert count == OBJECTS
            return


async def _watched(client: Client, ask: Ask) -> Row:
    before = resident()
    version = (await ask("limit=1"))["metadata"]["resourceVersion"]
    query = f"watch=true&resourceVersion={version}"
    streams = [await ask(query) for _ in range(WATCHERS)]
    opened = resident() - before
    counts = [0] * WATCHERS

    async def follow(number: int) -> None:
        async for lines in streams[number].lines():
            counts[number] += lines.count(b"\n")
            if counts[number] >= EVENTS:
                return

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(WATCHERS):
            group.create_task(follow(number))
        for turn in range(EVENTS):
            patch = {"metadata": {"labels": {"turn": str(turn)}}}
            await client.patch(MACHINES, Key("default", "machine-00000"), patch)
            await asyncio.sleep(0)
    wall = time.perf_counter() - began
    for stream in streams:
        await stream.aclose()
    return {
        "step": f"{WATCHERS} watchers of {EVENTS} changes",
        "wall_s": round(wall, 3),
        "per_s": round(sum(counts) / wall),
        "kib_each": round(opened / WATCHERS / 1024, 1),
        "rss_grown_mb": round((resident() - before) / 2**20, 1),
    }
