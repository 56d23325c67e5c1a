"""Waits for states of a control plane, and changes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.kube import Document
from tests.providers.kubeadm.peer_controllers import CONTROL_PLANE, PeerControllers

PATIENCE = 120.0


async def until(
    peers: PeerControllers, holds: Callable[[KubeadmControlPlane], Any]
) -> KubeadmControlPlane:
    """Wait until the control plane is as it should be; fail with what it says of itself."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while True:
        kcp = await peers.control_plane()
        if holds(kcp):
            return kcp
        messages = [
            f"{condition.type}={condition.status} {condition.message}"
            for condition in kcp.status.conditions
        ]
        assert asyncio.get_running_loop().time() < deadline, messages
        await asyncio.sleep(0.05)


def status_of(kcp: KubeadmControlPlane, type_: str) -> str:
    return next(
        (condition.status for condition in kcp.status.conditions if condition.type == type_), ""
    )


def at(replicas: int, version: str = "v1.34.0") -> Callable[[KubeadmControlPlane], bool]:
    """All replicas are there, ready, up to date and of that version."""

    def holds(kcp: KubeadmControlPlane) -> bool:
        status = kcp.status
        counts = (status.replicas, status.ready_replicas, status.up_to_date_replicas)
        return (
            counts == (replicas, replicas, replicas)
            and [status_version.version for status_version in status.versions] == [version]
            and status_of(kcp, "Available") == "True"
            and status.observed_generation == kcp.metadata.generation
        )

    return holds


async def change(peers: PeerControllers, spec: Document) -> None:
    await peers.plane.client.patch(KubeadmControlPlane.RESOURCE, CONTROL_PLANE, {"spec": spec})


async def names(peers: PeerControllers) -> set[str]:
    return {machine.metadata.name for machine in await peers.machines()}


async def replaced(peers: PeerControllers, name: str, replicas: int) -> str:
    """Wait until another Machine stands in the place of that one; its name."""
    before = {machine.metadata.uid: machine.metadata.name for machine in await peers.machines()}
    async with asyncio.timeout(300):
        while True:
            now = {
                machine.metadata.uid: machine.metadata.name for machine in await peers.machines()
            }
            went = [before[uid] for uid in before if uid not in now]
            if went == [name] and len(now) == replicas:
                (new,) = [now[uid] for uid in now if uid not in before]
                return new
            await asyncio.sleep(0.05)
