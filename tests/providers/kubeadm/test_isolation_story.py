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
from tests.providers.kubeadm.hands import CONTROL_PLANE, Hands

UNREACHABLE = "* the workload cluster cannot be reached ("


def message_of(kcp: KubeadmControlPlane, type_: str = "ScalingUp") -> str:
    return next(
        (condition.message for condition in kcp.status.conditions if condition.type == type_), ""
    )


async def told(hands: Hands) -> list[str]:
    events = (await hands.plane.client.list(EVENTS, "default")).items
    return [event["message"] for event in events if event["reason"] == "ControlPlaneUnreachable"]


async def isolated(hands: Hands) -> Machine:
    """A control plane that was initialized, of one Machine; nobody has reached the workload
    cluster since the program started."""
    client, hands.hold_new = hands.plane.client, True
    await hands.start()
    await asyncio.sleep(5)
    status = {"status": {"initialization": {"controlPlaneInitialized": True}}}
    resource = KubeadmControlPlane.RESOURCE
    await client.patch(resource, CONTROL_PLANE, status, subresource="status")
    await asyncio.sleep(1)
    (only,) = await hands.machines()
    return only


async def lost(hands: Hands) -> None:
    """The same, after its only Machine is gone."""
    only = await isolated(hands)
    client = hands.plane.client
    await client.delete(Machine, only.key)
    no_hook = {"metadata": {"annotations": {Annotation.KCP_CLEANUP_HOOK: None}}}
    await client.patch(Machine.RESOURCE, only.key, no_hook)
    await asyncio.sleep(5)
    assert await hands.machines() == []


async def test_a_control_plane_without_machines_reports_the_remedy(
    hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await lost(hands)
        kcp = await until(hands, lambda kcp: UNREACHABLE in message_of(kcp))
        lines = message_of(kcp).split("\n")
        assert lines[0] == "Scaling up from 0 to 1 replicas is blocked because:"
        assert lines[1].startswith(UNREACHABLE)
        assert lines[2] == f"* {UNRECOVERABLE}"
        await asyncio.sleep(3600)
    events = await told(hands)
    assert 1 <= len(events) <= 2  # at first, and when the connection counts as down
    assert all(UNRECOVERABLE in event for event in events)
    assert sum(UNRECOVERABLE in record.getMessage() for record in caplog.records) == len(events)
    assert await hands.machines() == []

    await hands.plane.client.delete(KubeadmControlPlane, CONTROL_PLANE)
    await asyncio.sleep(5)
    assert (await hands.plane.client.list(KubeadmControlPlane, "default")).items == []


async def test_scaling_continues_when_the_connection_is_back(hands: Hands) -> None:
    await lost(hands)
    await until(hands, lambda kcp: UNREACHABLE in message_of(kcp))
    hands.plane.reachable = True
    await until(hands, lambda kcp: UNREACHABLE not in message_of(kcp))


async def test_a_drained_machine_that_cannot_be_released_is_reported(hands: Hands) -> None:
    only = await isolated(hands)
    await asyncio.sleep(3600)
    assert await told(hands) == []
    await hands.plane.client.delete(Machine, only.key)
    await asyncio.sleep(3600)
    (waiting,) = await hands.machines()
    assert waiting.metadata.uid == only.metadata.uid
    assert 1 <= len(await told(hands)) <= 2
    hands.plane.reachable = True
    await asyncio.sleep(60)
    assert only.metadata.uid not in [machine.metadata.uid for machine in await hands.machines()]


async def test_nothing_is_reported_of_scaling_where_nothing_waits(hands: Hands) -> None:
    await hands.start()
    await until(hands, at(1))
    await change(hands, {"replicas": 3})
    kcp = await until(hands, at(3))
    assert message_of(kcp) == ""
    assert await told(hands) == []
