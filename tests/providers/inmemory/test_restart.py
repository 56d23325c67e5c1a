"""A process that dies at any moment, and another one on the same management data."""

from __future__ import annotations

import asyncio

import pytest

from kapy.api.machine import Machine
from kapy.kube.errors import Expired, Unreachable
from kapy.kube.names import NODES
from kapy.testing.provider_bench import key
from tests.providers.inmemory.plane import (
    CLUSTERS,
    UPSTREAM,
    dev_machine,
    in_memory_plane,
    settled,
)


async def test_a_restart_builds_the_workload_cluster_again() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue", workers=2)
        before = await plane.kubeconfig("blue")
        version = (await (await plane.workload("blue")).list(NODES)).resource_version
        await asyncio.sleep(1)
        await plane.restart()
        await asyncio.sleep(1)
        assert (await plane.kubeconfig("blue")).server == before.server
        client = await plane.workload("blue")
        nodes = [document["metadata"]["name"] for document in (await client.list(NODES)).items]
        assert nodes == ["blue-0", "blue-1", "blue-cp"]
        async with client.watch(NODES, resource_version=version) as events:
            with pytest.raises(Expired):
                await anext(events)


@pytest.mark.parametrize("moment", [0.0, 0.5, 3, 10.2, 11, 12.5, 13.9])
async def test_a_machine_that_was_starting_becomes_ready(moment: float) -> None:
    async with in_memory_plane() as plane:
        await plane.cluster("blue")
        await plane.machine("blue", "cp", dev_machine(UPSTREAM), control_plane=True)
        await asyncio.sleep(moment)
        await plane.restart()
        await plane.ready("cp")
        client = await plane.workload("blue")
        assert len((await client.list(NODES)).items) == 1


async def test_the_last_machine_answers_after_a_restart_while_it_is_drained() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue", workers=1)
        client, machine = plane.bench.client, key("blue-cp")
        held = {"metadata": {"finalizers": ["example.com/drain"]}}
        await client.patch(Machine.RESOURCE, machine, held)
        await client.delete(Machine, machine)
        await plane.restart()
        await settled()
        workload = await plane.workload("blue")
        assert len((await workload.list(NODES)).items) == 2


async def test_after_a_restart_no_address_is_given_twice() -> None:
    async with in_memory_plane() as plane:
        for number in range(20):
            await plane.cluster(f"c{number}")
        await plane.restart()
        await plane.cluster("new")
        await settled()
        listed = (await plane.bench.client.list(CLUSTERS, "default")).items
        hosts = {document["spec"]["controlPlaneEndpoint"]["host"] for document in listed}
        assert len(hosts) == len(listed) == 21


async def test_a_cluster_that_was_moved_away_is_forgotten() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        client = await plane.workload("blue")
        await plane.bench.client.patch(CLUSTERS, key("blue"), {"metadata": {"finalizers": None}})
        await plane.bench.client.delete(CLUSTERS, key("blue"))
        await asyncio.sleep(1)
        assert len(plane.in_memory) == 0
        with pytest.raises(Unreachable):
            await client.list(NODES)
