"""Boot data of MachinePools: one for all machines, whose token never gets old."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest_asyncio

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS
from kapy.providers.kubeadm.bootstrap.controller import add_to
from tests.providers.kubeadm.plane import Plane, running, settled
from tests.providers.kubeadm.test_bootstrap_story import (
    LABELS,
    WAITING,
    certificates,
    cluster,
    config_of,
    end_of,
    tokens,
    told,
    until,
    user_data,
)

POOL = Key("default", "pool")
HALF = 450  # seconds


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running(lambda plane: add_to(plane.runtime, plane.remote)) as plane:
        yield plane


async def pool(plane: Plane, *, replicas: int = 2) -> None:
    """A MachinePool and its KubeadmConfig."""
    reference = {"apiGroup": KubeadmConfig.RESOURCE.group, "kind": "KubeadmConfig", "name": "pool"}
    machine = {
        "clusterName": "c1",
        "version": "v1.34.0",
        "bootstrap": {"configRef": reference},
        "infrastructureRef": {"apiGroup": "i", "kind": "FakeMachinePool", "name": "pool"},
    }
    metadata: Document = {"name": POOL.name, "namespace": POOL.namespace, "labels": LABELS}
    (document,) = await plane.create(
        {
            "apiVersion": MachinePool.RESOURCE.api_version,
            "kind": MachinePool.RESOURCE.kind,
            "metadata": metadata,
            "spec": {"clusterName": "c1", "replicas": replicas, "template": {"spec": machine}},
        }
    )
    owner = {
        "apiVersion": MachinePool.RESOURCE.api_version,
        "kind": MachinePool.RESOURCE.kind,
        "name": POOL.name,
        "uid": document["metadata"]["uid"],
        "controller": True,
    }
    await plane.create(
        {
            "apiVersion": KubeadmConfig.RESOURCE.api_version,
            "kind": KubeadmConfig.RESOURCE.kind,
            "metadata": {**metadata, "ownerReferences": [owner]},
            "spec": {"joinConfiguration": {"nodeRegistration": {"name": "any"}}},
        }
    )
    await settled()


async def nodes(plane: Plane, count: int) -> None:
    """So many machines of the pool have become Nodes."""
    status = {"nodeRefs": [{"kind": "Node", "name": f"n{number}"} for number in range(count)]}
    await plane.client.patch(MachinePool.RESOURCE, POOL, {"status": status}, subresource="status")
    await settled()


async def test_a_pool_waits_for_the_control_plane_and_joins(plane: Plane) -> None:
    await cluster(plane)
    await certificates(plane)
    await pool(plane)
    assert told(await config_of(plane, "pool")) == ("False", WAITING)
    await cluster(plane, initialized=True)
    await until(plane, "pool", lambda kubeadm_config: bool(kubeadm_config.status.data_secret_name))
    text = await user_data(plane, "pool")
    assert "kubeadm join" in text
    assert "BEGIN" not in text


async def test_the_token_lives_until_all_nodes_are_there_and_is_then_rotated(plane: Plane) -> None:
    await cluster(plane, initialized=True)
    await certificates(plane)
    await pool(plane)
    (first,) = await tokens(plane)
    await nodes(plane, 1)
    await settled(4 * HALF)
    (stored,) = await tokens(plane)
    assert stored["metadata"]["name"] == first["metadata"]["name"]
    assert end_of(stored) > plane.clock()
    await nodes(plane, 2)
    await settled(4 * HALF)
    times = {document["metadata"]["name"]: end_of(document) for document in await tokens(plane)}
    config = await config_of(plane, "pool")
    token = config.spec.join_configuration.discovery.bootstrap_token.token
    end = times[f"bootstrap-token-{token.partition('.')[0]}"]
    assert len(times) > 1
    assert end - plane.clock() >= timedelta(seconds=HALF) - timedelta(minutes=5)
    assert end == max(times.values())
    assert token in await user_data(plane, "pool")


async def test_a_token_that_got_lost_is_replaced(plane: Plane) -> None:
    await cluster(plane, initialized=True)
    await certificates(plane)
    await pool(plane)
    (lost,) = await tokens(plane)
    await nodes(plane, 2)
    name = Key("kube-system", lost["metadata"]["name"])
    await plane.workload.delete(SECRETS, name)
    await settled(2 * HALF)
    results = await tokens(plane)
    assert results
    assert lost["metadata"]["name"] not in {document["metadata"]["name"] for document in results}
