"""Extensions that hold a managed cluster: nothing goes on before they say so."""

from __future__ import annotations

import asyncio
from typing import Any

from kapy.api.cluster import Cluster
from kapy.client.client import Client
from kapy.kube import Document
from kapy.topology.hooks import Answer, Hook
from tests.core.environment import CONTROL_PLANES, INFRA_CLUSTERS
from tests.core.topology.fake_class_plane import KEY, plane_with_fake_class
from tests.core.topology.topology_story import reconciled


class Hooks:
    """Extensions with one answer for each hook; whoever has none goes on."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def is_registered(self, hook: Hook, cluster: Cluster) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        async def answer(*_: object) -> Answer:
            self.asked.append(name)
            return self.answers.get(name, Answer())

        return answer


async def found(client: Client, seconds: float = 2.0) -> tuple[Cluster, str, str]:
    """The Cluster after a while, with the reason and the message of TopologyReconciled."""
    await asyncio.sleep(seconds)
    cluster = await client.get(Cluster, KEY)
    condition = reconciled(cluster)
    return cluster, condition.reason if condition else "", condition.message if condition else ""


async def made(client: Client) -> list[Document]:
    return [
        document
        for kind in (INFRA_CLUSTERS, CONTROL_PLANES)
        for document in (await client.list(kind, "default")).items
    ]


async def test_a_blocking_hook_delays_the_creation() -> None:
    hooks = Hooks(before_cluster_create=Answer(30, "the meadow is being fenced"))
    async with plane_with_fake_class(hooks) as client:
        _, reason, message = await found(client)
        assert reason == "ClusterCreating"
        assert message == (
            "Following hooks are blocking Cluster topology creation: "
            "BeforeClusterCreate: the meadow is being fenced"
        )
        assert not await made(client)
        del hooks.answers["before_cluster_create"]
        _, reason, _ = await found(client, 20)
        assert (reason, hooks.asked) == ("ClusterCreating", ["before_cluster_create"])
        cluster, reason, _ = await found(client, 15)
        assert reason == "ReconcileSucceeded"
        assert len(await made(client)) == 2
        pending = cluster.metadata.annotations["runtime.cluster.x-k8s.io/pending-hooks"]
        assert pending == "AfterControlPlaneInitialized"


async def test_a_pending_hook_is_called_once() -> None:
    hooks = Hooks()
    async with plane_with_fake_class(hooks) as client:
        await found(client)
        condition = {
            "type": "ControlPlaneInitialized",
            "status": "True",
            "reason": "Initialized",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        document = await client.get(Cluster.RESOURCE, KEY)
        conditions = [*document["status"]["conditions"], condition]
        status = {"status": {"conditions": conditions}}
        await client.patch(Cluster.RESOURCE, KEY, status, subresource="status")
        for _ in range(2):
            after, *_ = await found(client)
            assert "runtime.cluster.x-k8s.io/pending-hooks" not in after.metadata.annotations
            assert hooks.asked.count("after_control_plane_initialized") == 1
            await client.patch(Cluster, KEY, {"metadata": {"labels": {"again": "yes"}}})


async def test_a_blocking_hook_delays_the_deletion() -> None:
    hooks = Hooks(before_cluster_delete=Answer(30, "grazing"))
    async with plane_with_fake_class(hooks) as client:
        await found(client)
        await client.delete(Cluster, KEY)
        cluster, reason, message = await found(client)
        assert reason == "Deleting"
        assert message == (
            "Cluster is deleting. Following hooks are blocking delete: BeforeClusterDelete: grazing"
        )
        assert "runtime.cluster.x-k8s.io/ok-to-delete" not in cluster.metadata.annotations
        hooks.answers.clear()
        cluster, _, message = await found(client, 35)
        assert message == "Cluster is deleting"
        assert cluster.metadata.annotations["runtime.cluster.x-k8s.io/ok-to-delete"] == ""
