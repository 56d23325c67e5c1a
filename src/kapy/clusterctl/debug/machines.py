"""Logs of the machines of a Cluster, read through their providers' consoles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.debug.archive import Archive
from kapy.clusterctl.machine_targets import target_of
from kapy.clusterctl.server_from_here import Consoles
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.sdk.console import LogRequest, MachineConsole, MachineTarget

LINES: Final = 20_000
TIMEOUT: Final = 20.0
"""Time limit for one log in seconds."""


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
                    async with asyncio.timeout(TIMEOUT):
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
        wanted = LogRequest(source=source, tail=LINES, since=since)
        file = f"machines/{target.name}/{source}.log"
        try:
            async with asyncio.timeout(TIMEOUT):
                await archive.log(file, console.logs(target, wanted))
        except TimeoutError:
            archive.missing.append(f"{file}: it was not read within {TIMEOUT:g} s")
        except KapyError as error:
            archive.missing.append(f"{file}: {error}")
