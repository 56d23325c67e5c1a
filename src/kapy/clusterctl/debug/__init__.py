"""Writes an archive about one Cluster for a bug report: objects, events, logs, journals, no
secrets.

All parts share one time limit. Data that cannot be read are noted in the archive and in the result;
they never stop the other parts.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Final

from kapy import __version__
from kapy.api.cluster import Cluster
from kapy.client.client import Client
from kapy.clusterctl.debug.archive import MAX_TOTAL_BYTES, Archive
from kapy.clusterctl.debug.logs import collect_machine_logs, collect_manager_logs, file_tail
from kapy.clusterctl.debug.objects import Dial, collect_objects, collect_workload
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.server_from_here import Consoles
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound

__all__ = ["CollectOptions", "CollectResult", "NoSuchCluster", "collect"]

_HEAD: Final = """\
Cluster {key}, collected by kapy {version} at {now}.

Values of Secrets, keys, tokens and passwords were replaced by REDACTED wherever they were
recognized, and so were the contents of files that machines get. Look through the files before you
give them to others: addresses, names and images are in them.

"""


class NoSuchCluster(ClusterctlError):
    """There is no such Cluster."""


@dataclass(frozen=True, kw_only=True)
class CollectOptions:
    """Options of an archive. consoles, dial: connect to machines and to the workload cluster.
    plane_logs: log files of planes on this computer. within: time limit in seconds for all parts.
    since: start time of logs."""

    consoles: Consoles
    dial: Dial
    now: datetime
    plane_logs: Sequence[str] = ()
    within: float = 120.0
    most: int = MAX_TOTAL_BYTES
    since: datetime | None = None


@dataclass(frozen=True)
class CollectResult:
    """The content of the archive (sizes by name), and the list of missing data."""

    files: dict[str, int]
    missing: Sequence[str]


async def collect(
    client: Client, key: Key, file: BinaryIO, options: CollectOptions
) -> CollectResult:
    """Write an archive about a Cluster to a file. Raises NoSuchCluster, and ApiErrors if nothing
    can be read at all.
    """
    try:
        cluster = await client.get(Cluster.RESOURCE, key)
    except NotFound:
        raise NoSuchCluster(
            f"there is no Cluster {key.name} in namespace {key.namespace}; "
            "`kubectl get clusters -A` lists the clusters that there are"
        ) from None
    archive = Archive(file, options.now, max_bytes=options.most)
    objects: list[Document] = []

    async def gather_objects() -> None:
        objects.extend(await collect_objects(client, cluster, archive))

    async def gather_machines() -> None:
        machines = [obj for obj in objects if obj["kind"] == "Machine"]
        await collect_machine_logs(client, machines, options.consoles, archive, options.since)

    deadline = asyncio.get_running_loop().time() + options.within
    try:
        await _part("objects", deadline, gather_objects(), archive)
        await _part("versions", deadline, _versions(client, archive), archive)
        await _part("logs of managers", deadline, _managers(client, options, archive), archive)
        workload = collect_workload(client, key, options.dial, options.consoles, archive)
        await _part("workload cluster", deadline, workload, archive)
        await _part("logs of machines", deadline, gather_machines(), archive)
        head = _HEAD.format(key=key, version=__version__, now=options.now.isoformat())
        lines = [f"  {name} ({size} bytes)\n" for name, size in sorted(archive.names.items())]
        missing = [f"  {item}\n" for item in archive.missing] or ["  nothing\n"]
        text = "".join((head, "Not in it:\n", *missing, "\nIn it:\n", *lines))
        await archive.text("README.txt", text)
    finally:
        archive.close()
    return CollectResult(archive.names, [archive.redactor.text(item) for item in archive.missing])


async def _part(name: str, deadline: float, work: Awaitable[None], archive: Archive) -> None:
    try:
        async with asyncio.timeout_at(deadline):
            await work
    except TimeoutError:
        archive.missing.append(f"{name}: not all was read in the time that was given")
    except KapyError as error:
        archive.missing.append(f"{name}: {error}")


async def _versions(client: Client, archive: Archive) -> None:
    here = {"kapy": __version__, "python": platform.python_version(), "system": platform.platform()}
    await archive.document("versions/kapy.yaml", here)
    server = await client.raw("GET", "/version")
    await archive.document("versions/management-cluster.yaml", server)


async def _managers(client: Client, options: CollectOptions, archive: Archive) -> None:
    pods = await collect_manager_logs(client, archive)
    for number, path in enumerate(options.plane_logs):
        await archive.log(f"managers/plane-{number}.log", file_tail(path))
    if not pods and not options.plane_logs:
        archive.missing.append(
            "logs of managers: no Pod of a provider is there, and no plane runs in the background "
            "on this computer; `kapy up` without --detach writes its log to its terminal"
        )
