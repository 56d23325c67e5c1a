"""The API server alone: single requests of Machines of about 0.9 KB, in process and over HTTPS.

Over HTTPS the same load goes to a real kube-apiserver, too, when `PEER` names its kubeconfig.
"""

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
from random import Random
from typing import Any, Final

from benchmarks.machines import MACHINES, machine
from benchmarks.measure import Costs, percentile
from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apiserver.store.sqlite import Synchronous
from kapy.apps.admission import AdmissionRules
from kapy.apps.api_processes.configuration import configurations_of
from kapy.apps.api_processes.pool import api_processes
from kapy.apps.credentials import Credentials, issue_credentials
from kapy.apps.definitions import install_definitions
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import parse
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN

Row = dict[str, Any]
OBJECTS: Final = 2000
API_PROCESSES: Final = 2
BY_PROCESSES: Final = f"HTTPS, disk, {API_PROCESSES} API processes"
MANY_WATCHERS: Final = 1000
PEER: Final = "KAPY_BENCH_PEER"
PEER_URL: Final = "KAPY_BENCH_PEER_URL"
PEER_PIDS: Final = "KAPY_BENCH_PEER_PIDS"


async def in_process() -> list[Row]:
    """No bytes, no sockets: what a controller of the same process pays. In memory and on disk."""
    rows = []
    for place in ("memory", "disk"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) if place == "disk" else None
            server = Server.open(path, clock=system_clock, admission=(AdmissionRules(),))
            client = Client(server.transport(ADMIN), field_manager="driver")
            async with asyncio.TaskGroup() as group:
                running = group.create_task(server.run())
                await asyncio.sleep(0)
                await install_definitions(client)
                rows += await _requests(client, f"in process, {place}")
                running.cancel()
            server.close()
    return rows


async def over_https() -> list[Row]:
    """The server in a process of its own, on disk; CPU is the server's."""
    rows = []
    for synchronous in ("NORMAL", "FULL"):
        async with _server(synchronous) as document:
            where = "HTTPS, disk" if synchronous == "NORMAL" else "HTTPS, every write flushed"
            rows += await _load({**document, "where": where})
    if peer := os.environ.get(PEER):
        rows += await _load(await _peer(_content(peer)))
    return rows


async def over_https_by_processes() -> list[Row]:
    """The same with two API processes beside the one that writes, and more watchers. The load
    generator has no core of its own here: `per_s` is what is left beside it, and `per_s_own_cores`
    what the busiest process of the server allows.
    """
    async with _server("NORMAL", API_PROCESSES) as document:
        return await _load({**document, "where": BY_PROCESSES, "watchers": MANY_WATCHERS})


async def _load(document: Document) -> list[Row]:
    """The rows that a load generator in a process of its own measures."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.load"), stdin=PIPE, stdout=PIPE
    )
    out, _ = await process.communicate(json.dumps(document).encode())
    if process.returncode:
        raise RuntimeError("the load generator failed")
    rows: list[Row] = json.loads(out)
    return rows


def _content(path: str) -> bytes:
    return Path(path).read_bytes()


async def _peer(kubeconfig: bytes) -> Document:
    """Install our CRDs on the other server, and return the parameters of a connection to it."""
    access = parse(kubeconfig)
    transport = ApiTransport(access)
    await install_definitions(Client(transport))
    await transport.aclose()
    await asyncio.sleep(2)  # until it serves them: no event tells that
    return {
        "server": os.environ.get(PEER_URL) or access.server,
        "ca": access.certificate_authority.decode(),
        "certificate": access.client_certificate.decode(),
        "key": access.client_key.decode(),
        "token": access.token,
        "insecure": access.insecure,
        "pids": [int(part) for part in os.environ.get(PEER_PIDS, "").split()],
        "where": "HTTPS, peer",
    }


async def _requests(client: Client, where: str) -> list[Row]:
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
        ("CREATE", lambda value: client.create(MACHINES, machine(value)), OBJECTS),
        ("GET", get, OBJECTS),
        ("PATCH", label, OBJECTS),
        (f"LIST of {OBJECTS}", lambda _: client.list(MACHINES, "default"), 20),
        ("PATCH finalizer", drop, OBJECTS),
        ("DELETE", delete, OBJECTS),
    ):
        rows.append({"step": f"{verb}, {where}", **await _timed(ask, number)})
    return rows


async def _timed(ask: Callable[[int], Awaitable[Any]], number: int) -> Row:
    took: list[float] = []
    with Costs().of() as cost:
        for turn in range(number):
            began = time.perf_counter()
            await ask(turn)
            took.append(time.perf_counter() - began)
    return {
        "wall_s": round(cost.wall, 4),
        "cpu_s": round(cost.cpu, 4),
        "per_s": round(number / cost.wall),
        "p50_us": round(1e6 * percentile(took, 0.5), 1),
        "p99_us": round(1e6 * percentile(took, 0.99), 1),
        "cpu_us_per_request": round(1e6 * cost.cpu / number, 1),
    }


@asynccontextmanager
async def _server(synchronous: str, processes: int = 0) -> AsyncIterator[Document]:
    """Run a server in a process of its own; yield its connection parameters."""
    command = (sys.executable, "-m", "benchmarks.api_server", synchronous, str(processes))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    assert process.stdout is not None
    document = json.loads(await process.stdout.readline())
    try:
        yield document
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _serve(synchronous: Synchronous, processes: int) -> None:
    """The server of a process of its own: no controllers, which would work on what we create."""
    credentials = issue_credentials(Serving(), system_clock())
    with tempfile.TemporaryDirectory() as folder:
        server = Server.open(
            Path(folder), clock=system_clock, admission=(AdmissionRules(),), synchronous=synchronous
        )
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.run())
            await asyncio.sleep(0)
            await install_definitions(Client(server.transport(ADMIN)))
            async with _listening(server, credentials, processes) as (host, port, pids):
                messages = {
                    "server": f"https://{host}:{port}",
                    "ca": credentials.authority.certificate.decode(),
                    "certificate": credentials.administrator.certificate.decode(),
                    "key": credentials.administrator.key.decode(),
                    "pids": [os.getpid(), *pids],
                }
                sys.stdout.write(json.dumps(messages) + "\n")
                sys.stdout.flush()
                await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
            running.cancel()
        server.close()


@asynccontextmanager
async def _listening(
    server: Server, credentials: Credentials, processes: int
) -> AsyncIterator[tuple[str, int, list[int]]]:
    """Serve over HTTPS; yield the address, and the ids of the API processes."""
    application = Application(server, Authenticator())
    if not processes:
        own, authority = credentials.server, credentials.authority
        tls = server_context(own.certificate, own.key, authority.certificate)
        async with listen(application, tls=tls) as (host, port):
            yield host, port, []
        return
    serving, settings = Serving(), Settings(api_processes=processes)
    configurations = configurations_of(server, settings, serving, credentials, ())
    serves = api_processes(
        server, application, configurations, host=serving.host, port=0, random=Random()
    )
    async with serves as running:
        yield *running.address, [record.pid for record in running.records]


if __name__ == "__main__":
    _, durability, count = sys.argv
    asyncio.run(_serve("FULL" if durability == "FULL" else "NORMAL", int(count)))
