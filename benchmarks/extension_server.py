"""An extension server in a process of its own: calls over TLS, and the time until it listens.

The same requests go to another extension, in whatever language, when `--peer-url` names one: to its
Discovery, and to the first handler of GeneratePatches that it lists.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.api_server import PEER_PIDS, PEER_URL
from benchmarks.load import Connection, context_of, timed
from benchmarks.patching_extension import patch_request
from kapy.client.kubeconfig import Kubeconfig
from kapy.hooks.messages.discovery import DISCOVERY
from kapy.hooks.messages.topology_mutation import GENERATE_PATCHES
from kapy.kube import Document

Row = dict[str, Any]
CONNECTIONS: Final = 16
DISCOVERIES: Final = 16_000
PATCHES: Final = 6_400
STARTS: Final = 5
TWO_PROCESSES: Final = "kapy, 2 processes"


async def served() -> list[Row]:
    """Rows of ours, from one process and from two, and of the other one if there is one."""
    rows = []
    for processes, where in ((1, "kapy"), (2, TWO_PROCESSES)):
        async with _server(processes) as (document, pid):
            pids = [pid, *_descendants(pid)]
            rows += await _load({**document, "pids": pids, "where": where})
    if peer := os.environ.get(PEER_URL):
        pids = [int(part) for part in os.environ.get(PEER_PIDS, "").split()]
        rows += await _load({"server": peer, "ca": "", "pids": pids, "where": "peer"})
    began = []
    for _ in range(STARTS):
        before = time.perf_counter()
        async with _server() as (document, _):
            began.append(time.perf_counter() - before)
    return [*rows, {"step": "start of a process", "wall_s": round(min(began), 3)}]


async def _load(document: Document) -> list[Row]:
    command = (sys.executable, "-m", "benchmarks.extension_server")
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    out, _ = await process.communicate(json.dumps(document).encode())
    if process.returncode:
        raise RuntimeError("the load generator failed")
    rows: list[Row] = json.loads(out)
    return rows


@asynccontextmanager
async def _server(processes: int = 1) -> AsyncIterator[tuple[Document, int]]:
    """Run an extension in a process of its own; yield its address and CA, and its process ID."""
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kapy.cli.main", "extension", "serve"),
            *("benchmarks.patching_extension:extension", "--port", "0", "--tls-dir", folder),
            *("--processes", str(processes)),
            stderr=PIPE,
        )
        assert process.stderr is not None
        try:
            async for line in process.stderr:
                if line.startswith(b"serving at "):
                    break
            else:
                raise RuntimeError("the extension does not start")
            ca = (Path(folder) / "ca.crt").read_text()
            yield {"server": line.split()[2].decode(), "ca": ca}, process.pid
        finally:
            process.terminate()
            await process.wait()


def _descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pids = [int(child) for child in children]
    return [*pids, *(item for child in pids for item in _descendants(child))]


def measured(document: Document) -> list[Row]:
    """The duration of calls, with one running call on each connection."""
    access = Kubeconfig(document["server"], document["ca"].encode(), insecure=not document["ca"])
    tls = context_of(access)
    connections = [Connection(access, tls) for _ in range(CONNECTIONS)]
    discovery = _post(DISCOVERY.path(), {})
    patches = _post(_patching(connections[0], discovery), patch_request())
    where, pids = document["where"], document["pids"]
    rows = [
        timed(f"Discovery, {where}", lambda _: discovery, connections, DISCOVERIES, pids),
        timed(f"GeneratePatches, {where}", lambda _: patches, connections, PATCHES, pids),
    ]
    rows[1]["patches"] = _number_of_patches(connections[0], patches)
    return rows


def _post(path: str, request: Document) -> bytes:
    body = json.dumps(request, separators=(",", ":")).encode()
    head = f"POST {path}?timeout=10s HTTP/1.1\r\nHost: extension\r\nUser-Agent: driver/1\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _patching(connection: Connection, discovery: bytes) -> str:
    """The path of a handler of GeneratePatches."""
    connection.send(discovery)
    _, body = connection.receive()
    name = next(
        handler["name"]
        for handler in json.loads(body)["handlers"]
        if handler["requestHook"]["hook"] == GENERATE_PATCHES.name
    )
    return GENERATE_PATCHES.path(name)


def _number_of_patches(connection: Connection, request: bytes) -> int:
    connection.send(request)
    answer = json.loads(connection.receive()[1])
    if answer["status"] != "Success":
        raise RuntimeError(f"GeneratePatches: {answer.get('message')}")
    return len(answer["items"])


if __name__ == "__main__":
    print(json.dumps(measured(json.load(sys.stdin))))
