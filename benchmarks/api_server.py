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
from typing import Any, Final

from benchmarks.machines import MACHINES, machine
from benchmarks.measure import Costs, percentile
from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apiserver.store.sqlite import Synchronous
from kapy.apps.admission import AdmissionRules
from kapy.apps.credentials import issue_credentials
from kapy.apps.definitions import install_definitions
from kapy.apps.settings import Serving
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import parse
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN

Row = dict[str, Any]
OBJECTS: Final = 2000
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
        async with _server(synchronous) as (document, pid):
            where = "HTTPS, disk" if synchronous == "NORMAL" else "HTTPS, every write flushed"
            rows += await _load({**document, "pids": [pid], "where": where})
    if peer := os.environ.get(PEER):
        rows += await _load(await _peer(_content(peer)))
    return rows


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
async def _server(synchronous: str) -> AsyncIterator[tuple[Document, int]]:
    """Run a server in a process of its own; yield its connection parameters and process ID."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.api_server", synchronous), stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None
    document = json.loads(await process.stdout.readline())
    try:
        yield document, process.pid
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _serve(synchronous: Synchronous) -> None:
    """The server of a process of its own: no controllers, which would work on what we create."""
    serving = Serving()
    credentials = issue_credentials(serving, system_clock())
    tls = server_context(
        credentials.server.certificate, credentials.server.key, credentials.authority.certificate
    )
    with tempfile.TemporaryDirectory() as folder:
        server = Server.open(
            Path(folder), clock=system_clock, admission=(AdmissionRules(),), synchronous=synchronous
        )
        listening = listen(Application(server, Authenticator()), tls=tls)
        async with asyncio.TaskGroup() as group, listening as (host, port):
            running = group.create_task(server.run())
            await asyncio.sleep(0)
            await install_definitions(Client(server.transport(ADMIN)))
            messages = {
                "server": f"https://{host}:{port}",
                "ca": credentials.authority.certificate.decode(),
                "certificate": credentials.administrator.certificate.decode(),
                "key": credentials.administrator.key.decode(),
            }
            sys.stdout.write(json.dumps(messages) + "\n")
            sys.stdout.flush()
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
            running.cancel()
        server.close()


if __name__ == "__main__":
    asyncio.run(_serve("FULL" if sys.argv[1:] == ["FULL"] else "NORMAL"))
