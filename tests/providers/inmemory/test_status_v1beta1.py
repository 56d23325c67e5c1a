"""The v1beta1 status of a DevMachine; the expectations are upstream's recorded writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from kapy.conditions.v1beta1 import INFO
from kapy.kube import Document
from tests.providers.inmemory.plane import (
    MACHINES,
    UPSTREAM,
    Plane,
    dev_cluster,
    dev_machine,
    in_memory_plane,
    is_ready,
    settled,
)

Told = dict[str, tuple[str, ...]]

HOLDS = ("True",)
STARTS = ("False", "WaitingForStartupTimeout", INFO)


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Plane]:
    async with in_memory_plane() as result:
        yield result


def told(document: Document | None) -> Told:
    """Status, reason, severity and message by type, what is empty left out."""
    deprecated = (document or {}).get("status", {}).get("deprecated")
    listed = deprecated["v1beta1"]["conditions"] if deprecated else []
    fields = ("status", "reason", "severity", "message")
    return {item["type"]: tuple(item[name] for name in fields if name in item) for item in listed}


def waits(reason: str, of: int) -> Told:
    return {
        "Ready": ("False", reason, INFO, f"0 of {of} completed"),
        "VMProvisioned": ("False", reason, INFO),
    }


async def seen_until_ready(plane: Plane, name: str) -> list[Told]:
    """All that was told, and nothing else in between."""
    results: list[Told] = []
    while True:
        machine = await plane.bench.get(MACHINES, name)
        now = told(machine)
        if now and (not results or results[-1] != now):
            results.append(now)
        if machine is not None and is_ready(machine):
            return results
        await asyncio.sleep(0.1)


async def test_the_steps_of_a_control_plane_machine_are_counted_until_it_has_an_id(
    plane: Plane,
) -> None:
    await plane.cluster("blue")
    infra = dev_machine({**UPSTREAM, "apiServer": "5s"})
    await plane.machine("blue", "cp", infra, control_plane=True)
    ready = {"Ready": STARTS}
    server, etcd = {"APIServerProvisioned": STARTS}, {"EtcdProvisioned": STARTS}
    has_etcd = {"EtcdProvisioned": HOLDS}
    machine = {"NodeProvisioned": HOLDS, "VMProvisioned": HOLDS}
    assert await seen_until_ready(plane, "cp") == [
        waits("WaitingForStartupTimeout", of=4),
        ready | {"NodeProvisioned": STARTS, "VMProvisioned": HOLDS},
        ready | server | etcd | machine,
        ready | server | has_etcd | machine,
        {"Ready": HOLDS, "APIServerProvisioned": HOLDS} | has_etcd | machine,
    ]


async def test_a_waiting_machine_has_upstreams_v1beta1_conditions(plane: Plane) -> None:
    await plane.bench.cluster("blue", dev_cluster("blue"))
    await plane.machine("blue", "cp", control_plane=True, bootstrap_data=None)
    await plane.machine("blue", "worker", bootstrap_data=None)
    results: list[tuple[Told, Told]] = []
    for change in (settled, lambda: plane.bench.cluster_provisioned("blue")):
        await change()
        await settled()
        cp, worker = [await plane.bench.get(MACHINES, name) for name in ("cp", "worker")]
        results.append((told(cp), told(worker)))
    both = "WaitingForClusterInfrastructure"
    assert results == [
        (waits(both, of=4), waits(both, of=2)),
        (waits("WaitingForBootstrapData", of=4), waits("WaitingControlPlaneInitialized", of=2)),
    ]


async def test_a_failed_step_keeps_its_last_condition(plane: Plane) -> None:
    await plane.bench.cluster("blue", dev_cluster("blue"), provisioned=True)
    await plane.machine("blue", "cp", dev_machine(UPSTREAM), control_plane=True)
    await asyncio.sleep(60)  # without a CA, no API server starts
    assert told(await plane.bench.get(MACHINES, "cp")) == {
        "Ready": STARTS,
        "APIServerProvisioned": STARTS,
        "EtcdProvisioned": HOLDS,
        "NodeProvisioned": HOLDS,
        "VMProvisioned": HOLDS,
    }
