"""Logs of provider managers, of the machines of a Cluster, and of the command itself.

The logs of managers are those of the Pods of their Deployments. The logs of machines are read
through the consoles of their providers. The log of the command is the end of a local file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Final

from kapy.api.names import Label
from kapy.client.client import Client
from kapy.client.reply import failure_of
from kapy.clusterctl.debug.archive import MAX_LOG_BYTES, Archive
from kapy.clusterctl.debug.objects import list_objects
from kapy.clusterctl.machine_targets import target_of
from kapy.clusterctl.server_from_here import Consoles
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.http import Request
from kapy.kube.names import PODS
from kapy.sdk.console import LogRequest, MachineConsole, MachineTarget

_PREVIOUS_VALUES: Final = ("", "true")
"""Values of `previous`: the running container, and its predecessor."""
_LINES: Final = 20_000
_TIMEOUT: Final = 20.0
"""Time limit for one log in seconds."""

_CHUNK_BYTES: Final = 256 << 10


async def collect_manager_logs(client: Client, archive: Archive) -> int:
    """Add the logs of all provider Pods; returns the number of Pods."""
    pods = await list_objects(client, PODS, "", archive, labels=Label.PROVIDER)
    for pod in pods:
        metadata = pod["metadata"]
        place = f"{metadata['namespace']}/pods/{metadata['name']}"
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        restarted = {status["name"] for status in statuses if status.get("restartCount")}
        for container in (pod.get("spec") or {}).get("containers") or ():
            name = container["name"]
            for previous in _PREVIOUS_VALUES if name in restarted else _PREVIOUS_VALUES[:1]:
                file = f"managers/{metadata['namespace']}/{metadata['name']}/{name}"
                file += ".previous.log" if previous else ".log"
                try:
                    await archive.log(file, _log(client, place, name, previous))
                except KapyError as error:
                    archive.missing.append(f"{file}: {error}")
    return len(pods)


async def _log(client: Client, place: str, container: str, previous: str) -> AsyncIterator[bytes]:
    query = {"container": container, "limitBytes": str(2 * MAX_LOG_BYTES), "timestamps": "true"}
    if previous:
        query["previous"] = previous
    else:
        query["tailLines"] = str(_LINES)
    path = f"/api/v1/namespaces/{place}/log"
    reply = await client.transport(Request("GET", path, query))
    if reply.status >= 400:
        raise failure_of(reply)
    if isinstance(reply.body, bytes):
        yield reply.body
    elif isinstance(reply.body, dict):  # a log of one line that is JSON
        import json

        yield json.dumps(reply.body).encode()
    else:
        async for piece in reply.body:
            if isinstance(piece, bytes):
                yield piece


async def collect_machine_logs(
    client: Client,
    machines: Iterable[Document],
    consoles: Consoles,
    archive: Archive,
    since: datetime | None,
) -> None:
    """Add every log of every machine."""
    versions: dict[str, str] = {}
    for machine in machines:
        name = machine["metadata"]["name"]
        try:
            target = await target_of(client, machine)
            async with consoles(target.infra) as console:
                await _logs(console, target, archive, since)
                if not versions:
                    async with asyncio.timeout(_TIMEOUT):
                        versions |= await console.versions()
        except TimeoutError:
            archive.missing.append(f"Machine {name}: its provider does not answer")
        except KapyError as error:
            archive.missing.append(f"Machine {name}: {error}")
    if versions:
        await archive.document("versions/machines.yaml", versions)


async def _logs(
    console: MachineConsole, target: MachineTarget, archive: Archive, since: datetime | None
) -> None:
    for source in console.sources:
        wanted = LogRequest(source=source, tail=_LINES, since=since)
        file = f"machines/{target.name}/{source}.log"
        try:
            async with asyncio.timeout(_TIMEOUT):
                await archive.log(file, console.logs(target, wanted))
        except TimeoutError:
            archive.missing.append(f"{file}: it was not read within {_TIMEOUT:g} s")
        except KapyError as error:
            archive.missing.append(f"{file}: {error}")


async def file_tail(path: str, max_bytes: int = 2 * MAX_LOG_BYTES) -> AsyncIterator[bytes]:
    """The last bytes of a file in pieces. Raises OSError."""
    with await asyncio.to_thread(open, path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - max_bytes))
        while piece := await asyncio.to_thread(file.read, _CHUNK_BYTES):
            yield piece
