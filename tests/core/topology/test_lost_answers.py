"""Answers that get lost never make anything twice."""

from __future__ import annotations

import asyncio

import pytest

from kapy.api.cluster import Cluster
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import SECRETS
from tests.core.environment import CONTROL_PLANES, INFRA_CLUSTERS
from tests.core.topology.fake_class_plane import KEY, plane_with_fake_class
from tests.core.topology.topology_story import reconciled


class Losing:
    """Writes are done, and the answers to the first ones of each object are lost.

    times: how many of them.
    """

    over_network = False

    def __init__(self, transport: Transport, times: int) -> None:
        self._transport = transport
        self._times = times
        self.lost: dict[str, int] = {}

    async def __call__(self, request: Request) -> Reply:
        reply = await self._transport(request)
        path = f"{request.method} {request.path}"
        is_write = request.method != "GET" and "events" not in path
        if is_write and self.lost.get(path, 0) < self._times:
            self.lost[path] = self.lost.get(path, 0) + 1
            raise Unreachable("the answer was lost")
        return reply


@pytest.mark.parametrize("times", [1, 3])
async def test_objects_created_with_a_lost_answer_are_found_again(times: int) -> None:
    async with plane_with_fake_class(through=lambda transport: Losing(transport, times)) as client:
        await asyncio.sleep(60)
        cluster = await client.get(Cluster, KEY)
        condition = reconciled(cluster)
        assert condition is not None
        assert (condition.status, condition.reason) == ("True", "ReconcileSucceeded")
        for kind in (INFRA_CLUSTERS, CONTROL_PLANES):
            (document,) = (await client.list(kind, "default")).items
            assert document["metadata"]["labels"]["topology.cluster.x-k8s.io/owned"] == ""
        assert cluster.spec.control_plane_ref is not None
        assert cluster.spec.control_plane_ref.name == document["metadata"]["name"]
        names = [item["metadata"]["name"] for item in (await client.list(SECRETS)).items]
        assert names == ["c-shim"]  # until the Cluster's controller, who is not here, owns them
