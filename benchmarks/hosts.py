"""The cost of 200 machines of one's own, which a plane reaches over SSH, all at once.

The hosts are fakes (`providers/hosts/simulated_hosts`) behind one SSH server in another process, so
the rows measure the provider, asyncssh and the plane. Needs asyncssh, and an address 127.x.y.z for
each host, which Linux has.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Costs, Measured, peak
from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.kube import Document, Key
from kapy.testing.planes import RunningPlane

ROOT: Final = Path(__file__).resolve().parents[1]
PROVIDER: Final = ROOT / "providers" / "hosts"
API: Final = "infrastructure.cluster.x-k8s.io/v1alpha1"
CLUSTER_LABEL: Final = {"cluster.x-k8s.io/cluster-name": "blue"}
BOOT_DATA: Final = b"#cloud-config\nruncmd:\n- kubeadm join\n"
WITHIN: Final = 600.0
IDLE: Final = 60.0
"""Seconds; in this time each host in use is looked at once."""
_TICK: Final = 0.01
_LOOK: Final = 1.0

Row = dict[str, Any]


async def at_once(number: int) -> list[Row]:
    """`number` hosts that are looked at, get a machine each, are in use, and are given back."""
    sys.path.insert(0, str(PROVIDER))
    from kapy_hosts import PROVIDER as HOSTS

    async with _ssh_server() as (port, key):
        settings = Settings(providers=(HOSTS,))
        async with management_plane(settings, clock=system_clock) as running:
            plane = RunningPlane(running)
            await plane.apply(_common(key))
            rows = []
            for step, work in (("looked at", _look), ("machines", _machines)):
                rows.append(await _measured(step, work(plane, number, port)))
            rows.append(await _measured("a minute in use", asyncio.sleep(IDLE)))
            rows.append(await _measured("given back", _give_back(plane, number)))
            return [{**row, "hosts": number} for row in rows]


async def _measured(step: str, work: Any) -> Row:
    cost: Measured
    with Costs().of() as cost:
        async with asyncio.TaskGroup() as group:
            ticks = group.create_task(_longest_tick())
            await work
            ticks.cancel()
    stall = _STALLS.pop()
    return {"step": step, **cost.as_row(), "peak_mb": round(peak() / 2**20, 1), "stall_s": stall}


_STALLS: Final[list[float]] = []


async def _longest_tick() -> None:
    """The longest computation of the event loop between two others; CPU time, as a busy machine
    makes each of them take longer."""
    longest, before = 0.0, time.thread_time()
    try:
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, before = max(longest, now - before), now
            await asyncio.sleep(_TICK)
            before = time.thread_time()
    finally:
        _STALLS.append(round(longest, 3))


async def _look(plane: RunningPlane, number: int, port: int) -> None:
    for index in range(number):
        await plane.apply([_host(index, port)])
        await asyncio.sleep(0)  # requests in process give nobody else a turn
    await _until_hosts(plane, number, "Free")


async def _machines(plane: RunningPlane, number: int, port: int) -> None:
    del port
    for index in range(number):
        await plane.apply(_machine(index))
        await asyncio.sleep(0)  # requests in process give nobody else a turn
    await _until_hosts(plane, number, "Claimed")
    from kapy_hosts.kinds import HostMachine

    async with asyncio.timeout(WITHIN):
        while True:
            machines = (await plane.client.list(HostMachine)).items
            if (
                sum(machine.status.initialization.provisioned is True for machine in machines)
                == number
            ):
                return
            await asyncio.sleep(_LOOK)


async def _give_back(plane: RunningPlane, number: int) -> None:
    from kapy.api.machine import Machine

    for index in range(number):
        await plane.client.delete(Machine, Key("default", _name(index)))
        await asyncio.sleep(0)  # requests in process give nobody else a turn
    await _until_hosts(plane, number, "Free")


async def _until_hosts(plane: RunningPlane, number: int, state: str) -> None:
    from kapy_hosts.kinds import Host

    async with asyncio.timeout(WITHIN):
        while True:
            hosts = (await plane.client.list(Host)).items
            if sum(host.status.state == state for host in hosts) == number:
                return
            await asyncio.sleep(_LOOK)


def _name(number: int) -> str:
    return f"host-{number:03d}"


def _named(name: str) -> Document:
    return {"name": name, "namespace": "default"}


def _common(key: bytes) -> list[Document]:
    group = API.split("/")[0]
    secret = {"ssh-privatekey": b64encode(key).decode()}
    endpoint = {"host": "10.0.0.100", "port": 6443}
    reference = {"apiGroup": group, "kind": "HostCluster", "name": "blue"}
    return [
        {"apiVersion": "v1", "kind": "Secret", "metadata": _named("key"), "data": secret},
        {
            "apiVersion": API,
            "kind": "HostCluster",
            "metadata": _named("blue"),
            "spec": {"controlPlaneEndpoint": endpoint},
        },
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": _named("blue"),
            "spec": {"infrastructureRef": reference},
        },
    ]


def _host(number: int, port: int) -> Document:
    spec = {
        "address": f"127.1.{number // 250}.{number % 250 + 1}",
        "port": port,
        "privateKeySecretRef": {"name": "key"},
    }
    return {"apiVersion": API, "kind": "Host", "metadata": _named(_name(number)), "spec": spec}


def _machine(number: int) -> list[Document]:
    name = _name(number)
    labeled = _named(name) | {"labels": CLUSTER_LABEL}
    reference = {"apiGroup": API.split("/")[0], "kind": "HostMachine", "name": name}
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": labeled | {"name": f"{name}-data"},
            "data": {"value": b64encode(BOOT_DATA).decode()},
        },
        {"apiVersion": API, "kind": "HostMachine", "metadata": labeled, "spec": {}},
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": labeled,
            "spec": {
                "clusterName": "blue",
                "version": "v1.34.0",
                "bootstrap": {"dataSecretName": f"{name}-data"},
                "infrastructureRef": reference,
            },
        },
    ]


@asynccontextmanager
async def _ssh_server() -> AsyncIterator[tuple[int, bytes]]:
    """The hosts: their port, and the private key that they accept."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "simulated_hosts.ssh_server"),
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{PROVIDER}"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        key = await process.stdout.readuntil(b"-----END OPENSSH PRIVATE KEY-----\n")
        yield port, key
    finally:
        process.kill()
        await process.wait()
