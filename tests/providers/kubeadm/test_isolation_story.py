"""A control plane whose workload cluster cannot be reached says what waits for it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.kube.names import EVENTS
from kapy.providers.kubeadm.controlplane.unreachable import UNRECOVERABLE
from tests.providers.kubeadm.awaiting import at, change, until
from tests.providers.kubeadm.peer_controllers import CONTROL_PLANE, PeerControllers

UNREACHABLE = "* the workload cluster cannot be reached ("


def message_of(kcp: KubeadmControlPlane, type_: str = "ScalingUp") -> str:
    return next(
        (condition.message for condition in kcp.status.conditions if condition.type == type_), ""
    )


async def told(peers: PeerControllers) -> list[str]:
    events = (await peers.plane.client.list(EVENTS, "default")).items
    return [event["message"] for event in events if event["reason"] == "ControlPlaneUnreachable"]


async def isolated(peers: PeerControllers) -> Machine:
    """A control plane that was initialized, of one Machine; nobody has reached the workload
    cluster since the program started."""
    client, peers.hold_new = peers.plane.client, True
    await peers.start()
    await asyncio.sleep(5)
    status = {"status": {"initialization": {"controlPlaneInitialized": True}}}
    resource = KubeadmControlPlane.RESOURCE
    await client.patch(resource, CONTROL_PLANE, status, subresource="status")
    await asyncio.sleep(1)
    (only,) = await peers.machines()
    return only


async def lost(peers: PeerControllers) -> None:
    """The same, after its only Machine is gone."""
    only = await isolated(peers)
    client = peers.plane.client
    await client.delete(Machine, only.key)
    no_hook = {"metadata": {"annotations": {Annotation.KCP_CLEANUP_HOOK: None}}}
    await client.patch(Machine.RESOURCE, only.key, no_hook)
    await asyncio.sleep(5)
    assert await peers.machines() == []


async def an_hour(peers: PeerControllers) -> None:
    """Let an hour pass, in which the peers, which poll, look less often."""
    pace, peers.pace = peers.pace, 10.0
    await asyncio.sleep(3600)
    peers.pace = pace


async def test_a_control_plane_without_machines_reports_the_remedy(
    peers: PeerControllers, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await lost(peers)
        kcp = await until(peers, lambda kcp: UNREACHABLE in message_of(kcp))
        lines = message_of(kcp).split("\n")
        assert lines[0] == "Scaling up from 0 to 1 replicas is blocked because:"
        assert lines[1].startswith(UNREACHABLE)
        assert lines[2] == f"* {UNRECOVERABLE}"
        await an_hour(peers)
    events = await told(peers)
    assert 1 <= len(events) <= 2  # at first, and when the connection counts as down
    assert all(UNRECOVERABLE in event for event in events)
    assert sum(UNRECOVERABLE in record.getMessage() for record in caplog.records) == len(events)
    assert await peers.machines() == []

    await peers.plane.client.delete(KubeadmControlPlane, CONTROL_PLANE)
    await asyncio.sleep(5)
    assert (await peers.plane.client.list(KubeadmControlPlane, "default")).items == []


async def test_scaling_continues_when_the_connection_is_back(peers: PeerControllers) -> None:
    await lost(peers)
    await until(peers, lambda kcp: UNREACHABLE in message_of(kcp))
    peers.plane.reachable = True
    await until(peers, lambda kcp: UNREACHABLE not in message_of(kcp))


async def test_a_drained_machine_that_cannot_be_released_is_reported(
    peers: PeerControllers,
) -> None:
    only = await isolated(peers)
    await an_hour(peers)
    assert await told(peers) == []
    await peers.plane.client.delete(Machine, only.key)
    await an_hour(peers)
    (waiting,) = await peers.machines()
    assert waiting.metadata.uid == only.metadata.uid
    assert 1 <= len(await told(peers)) <= 2
    peers.plane.reachable = True
    await asyncio.sleep(60)
    assert only.metadata.uid not in [machine.metadata.uid for machine in await peers.machines()]


async def test_nothing_is_reported_of_scaling_where_nothing_waits(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    await change(peers, {"replicas": 3})
    kcp = await until(peers, at(3))
    assert message_of(kcp) == ""
    assert await told(peers) == []
