"""Pools of containers: what they are made of, and what replaces them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kapy._aio.services import run_services
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document
from kapy.providers.docker.containers import CLUSTER_LABEL, FAILURE_DOMAIN_LABEL, ROLE_LABEL
from kapy.testing.conformance.pool_machines import PoolMachines
from kapy.testing.conformance.watch_log import WatchLog
from kapy.testing.provider_bench import NAMESPACE, key
from tests.providers.docker.setup import DEV, DOCKER, Kinds, Setup, playing, status

LABELS = {
    "DevMachinePool": "dev.cluster.x-k8s.io/machine-pool",
    "DockerMachinePool": "docker.cluster.x-k8s.io/machine-pool",
}
BOTH = pytest.mark.parametrize("kinds", [DEV, DOCKER], ids=list(LABELS))


@asynccontextmanager
async def pools(kinds: Kinds) -> AsyncIterator[Setup]:
    """A cluster, and somebody who makes a Machine for each machine of its pools, as core does."""
    async with playing(kinds) as setup:
        log = WatchLog(setup.bench.client, None)
        core = PoolMachines(setup.bench.client, log, [kinds.machine])
        setup.engine.images |= {"node:1", "node:2"}
        async with run_services(seen=log.run, core=core.run):
            for resource in (kinds.machine, Machine.RESOURCE):
                await log.watch(resource)
            await setup.cluster()
            yield setup


async def a_pool(setup: Setup, image: str = "node:1", replicas: int = 2, **spec: Any) -> None:
    """A MachinePool with boot data."""
    wanted = setup.kinds.pool_of({"customImage": image})
    await setup.bench.machine_pool("blue", "pool", wanted, replicas=replicas, **spec)
    await setup.bench.pool_bootstrap("blue", "pool", b"#cloud-config\n{}")


def is_full(document: Document, count: int = 2) -> bool:
    return len(document["spec"].get("providerIDList") or ()) == count


def images(setup: Setup) -> list[str]:
    """The images of all containers but the load balancer."""
    result = setup.engine.made.values()
    return sorted(
        paper_container.record.image
        for paper_container in result
        if paper_container.record.name != "blue-lb"
    )


@BOTH
async def test_a_pool_is_provisioned_when_all_its_machines_are(kinds: Kinds) -> None:
    async with pools(kinds) as setup:
        await a_pool(setup, failureDomains=["a", "b"])
        pool = await setup.bench.until(kinds.pool, "pool", is_full)
        pool = await setup.bench.until(
            kinds.pool, "pool", lambda document: status(document, "ReplicasReady") == "True"
        )
        scheme = "dev" if kinds is DEV else "docker"
        assert pool["spec"]["providerID"] == f"{scheme}:////blue-dmp-pool"
        names = [item.rpartition("/")[2] for item in pool["spec"]["providerIDList"]]
        labels = [setup.engine.made[name].record.labels for name in names]
        assert {label[LABELS[kinds.pool.kind]] for label in labels} == {"pool"}
        assert sorted(label[FAILURE_DOMAIN_LABEL] for label in labels) == ["a", "b"]
        assert {label[ROLE_LABEL] for label in labels} == {"worker"}
        machines = (await setup.bench.client.list(kinds.machine, namespace=NAMESPACE)).items
        spec = machines[0]["spec"]["backend"]["docker"] if kinds.nested else machines[0]["spec"]
        assert spec["customImage"] == "node:1"


@BOTH
async def test_machines_of_another_image_are_replaced(kinds: Kinds) -> None:
    async with pools(kinds) as setup:
        await a_pool(setup)
        await setup.bench.until(kinds.pool, "pool", is_full)
        assert images(setup) == ["node:1", "node:1"]
        least = 2
        wanted = kinds.pool_of({"customImage": "node:2"})
        await setup.bench.client.patch(kinds.pool, key("pool"), {"spec": wanted["spec"]})
        async with asyncio.timeout(600):
            while images(setup) != ["node:2", "node:2"]:
                least = min(least, len(images(setup)))
                await asyncio.sleep(1)
        assert least == 2  # an old one goes when a new one is there


@BOTH
async def test_images_that_podman_lists_in_full_are_no_other_images(kinds: Kinds) -> None:
    async with pools(kinds) as setup:
        await a_pool(setup)
        await setup.bench.until(kinds.pool, "pool", is_full)
        names = setup.engine.names()
        for name in names:
            setup.engine.relabel(name, image="docker.io/library/node:1")
        touched = {"metadata": {"annotations": {"touched": "yes"}}}
        await setup.bench.client.patch(kinds.pool, key("pool"), touched)
        await asyncio.sleep(60)
        assert setup.engine.names() == names


@BOTH
async def test_deletion_takes_containers_that_have_no_object_yet(kinds: Kinds) -> None:
    async with pools(kinds) as setup:
        await a_pool(setup)
        await setup.bench.until(kinds.pool, "pool", is_full)
        label = LABELS[kinds.pool.kind]
        setup.engine.put("blue-worker-x", {CLUSTER_LABEL: "blue", label: "pool"})
        setup.engine.put("blue-worker-y", {CLUSTER_LABEL: "blue", label: "pool-2"})
        await setup.bench.client.delete(MachinePool.RESOURCE, key("pool"))
        await setup.bench.client.delete(kinds.pool, key("pool"))
        await setup.bench.until_gone(kinds.pool, "pool")
        assert setup.engine.names() == ["blue-lb", "blue-worker-y"]


@BOTH
async def test_the_pool_of_upstreams_manager_keeps_its_id(kinds: Kinds) -> None:
    async with pools(kinds) as setup:
        await a_pool(setup)
        patch = {"spec": {"providerID": "other:////blue-dmp-pool"}}
        await setup.bench.client.patch(kinds.pool, key("pool"), patch)
        pool = await setup.bench.until(kinds.pool, "pool", is_full)
        assert pool["spec"]["providerID"] == "other:////blue-dmp-pool"
