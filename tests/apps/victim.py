"""Planes to be killed, one after the other: `python -m tests.apps.victim FOLDER`.

Each line that it reads is a plane, `SEED` or `SEED settle`, in a process of its own: a fork, as
most of the time goes into the start of Python. It says on standard output, one JSON document a
line, that process (`pid`), what is there when it starts (`found`), each write once it is
acknowledged (`acknowledged`), with `settle` what is there in the end, and the `status` of the
process that ended. No line is cut off by that: short ones go into a pipe as a whole.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

from kapy._aio.clock import system_clock
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Label
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.cluster_progress import wait_until_available
from kapy.apps.manifests import apply_manifests, sample
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CONFIG_MAPS

CLUSTER, WORKERS = Key("default", "capybara"), Key("default", "capybara-md-0")
SETTLED = 3


def fleet() -> list[Document]:
    """The sample with keys that are quick to make."""
    objects = sample()
    for obj in objects:
        if obj["kind"] == "KubeadmControlPlane":
            configuration = obj["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]
            configuration["encryptionAlgorithm"] = "ECDSA-P256"
    return objects


def say(**values: Any) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


async def live(plane: ManagementPlane, seed: int) -> None:
    """Write until killed: numbered objects, and ever other numbers of workers."""
    client, random = plane.client, Random(seed)
    say(found=await notes(client), planes=await planes(client))
    if not await there(client):
        await apply_manifests(client, fleet())
        say(acknowledged="fleet")
    number = 0
    while True:
        name = f"note-{seed}-{number}"
        await client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
        say(acknowledged=name)
        if number % 10 == 9:
            replicas = {"spec": {"replicas": random.randint(1, 4)}}
            await client.patch(MachineDeployment, WORKERS, replicas)
        number += 1
        await asyncio.sleep(0.01)


async def settle(plane: ManagementPlane) -> None:
    """Let the fleet come to rest, and say what it is then."""
    client = plane.client
    results = await notes(client)
    await apply_manifests(client, fleet())
    await client.patch(MachineDeployment, WORKERS, {"spec": {"replicas": SETTLED}})
    async with asyncio.timeout(60):
        while not await scaled(client):  # noqa: ASYNC110  (two kinds, and in a test)
            await asyncio.sleep(0.05)
    await wait_until_available(client, [CLUSTER], lambda *_: None, within=60)
    machines = (await client.list(Machine, "default")).items
    nodes = [machine.status.node_ref.name for machine in machines if machine.status.node_ref]
    say(
        found=results,
        planes=await planes(client),
        machines=len(machines),
        nodes=len(set(nodes)),
    )


async def scaled(client: Client) -> bool:
    """Whether the workers are as many as wanted and at work.

    The counters alone do not tell: they may be of a moment before the last change.
    """
    workers = await client.get(MachineDeployment, WORKERS)
    status = workers.status
    machines = (await client.list(Machine, "default")).items
    return (
        status.observed_generation == workers.metadata.generation
        and status.available_replicas == SETTLED
        and len(machines) == 1 + SETTLED
        and all(
            machine.status.node_ref is not None and not machine.deleting for machine in machines
        )
    )


async def there(client: Client) -> bool:
    try:
        await client.get(MachineDeployment, WORKERS)
    except NotFound:
        return False
    return True


async def notes(client: Client) -> list[str]:
    listed = await client.list(CONFIG_MAPS, "default")
    return [document["metadata"]["name"] for document in listed.items]


async def planes(client: Client) -> int:
    """The number of control plane Machines that are not being deleted."""
    listed = await client.list(Machine, "default", labels=Label.CONTROL_PLANE)
    return sum(not machine.deleting for machine in listed.items)


async def run(folder: str, seed: str, mode: str = "") -> None:
    settings = Settings(data=Path(folder))
    async with management_plane(settings, clock=system_clock) as plane:
        if mode == "settle":
            await settle(plane)
        else:
            await live(plane, int(seed))


def main(folder: str) -> None:
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if not pid:
            asyncio.run(run(folder, *line.split()))
            os._exit(0)
        say(pid=pid)
        _, status = os.waitpid(pid, 0)
        say(status=status)


if __name__ == "__main__":
    main(sys.argv[1])
