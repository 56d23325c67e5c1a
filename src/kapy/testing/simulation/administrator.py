"""An administrator who has restored an older backup, and follows what conditions report."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from kapy.kube import Key
from kapy.kube.errors import ApiError
from kapy.testing.simulation.world import World

LOOK: Final = 60.0
LOOKS: Final = 20
_NODE: Final = re.compile(r"Control plane Node (\S+) does not have a corresponding Machine")
_MEMBER: Final = re.compile(r"Etcd doesn't have an etcd member for Node (\S+)")


async def follow_reports(world: World) -> None:
    """For some time, delete the machines of reported Nodes without a Machine, and restored Machines
    whose etcd member is reported as missing. Machines that are newer must not need that."""
    restored = {
        machine["metadata"]["uid"] for machine in world.documents(world.resources["Machine"])
    }
    for _ in range(LOOKS):
        await asyncio.sleep(LOOK)
        text = _reported(world)
        for workload in world.cloud.workloads():
            for name in set(_NODE.findall(text)) & workload.machines.keys():
                world.trace.add("cloud", does="delete", machine=name)
                workload.remove(name)
        missing = set(_MEMBER.findall(text))
        for machine in world.documents(world.resources["Machine"]):
            node = ((machine.get("status") or {}).get("nodeRef") or {}).get("name")
            metadata = machine["metadata"]
            is_known = node in missing and metadata["uid"] in restored
            if is_known and not metadata.get("deletionTimestamp"):
                await _delete(world, Key.of(machine))


def _reported(world: World) -> str:
    """Return the messages of the control planes' conditions."""
    return "\n".join(
        condition.get("message") or ""
        for plane in world.documents(world.resources["KubeadmControlPlane"])
        for condition in (plane.get("status") or {}).get("conditions") or ()
    )


async def _delete(world: World, key: Key) -> None:
    world.trace.add("user", does="delete", object=f"Machine/{key.name}")
    try:
        await world.client.delete(world.resources["Machine"], key)
    except ApiError:
        return  # at the next look
