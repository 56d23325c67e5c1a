"""Access reviews are remembered for a short time, and not without a limit."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import MAX_CONCURRENT
from kapy.clusterctl.describe.source import CLUSTERS
from kapy.kube.http import Reply, Request
from kapy.ui.rights import MOST_NAMESPACES, MOST_REVIEWS, REVIEW_LIFE, Right, Rights


class _Reviewer:
    """An API server that answers access reviews, and the clock of its client."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.asked = 0
        self.allowed = True
        self.rights = Rights(Client(self), lambda: self.now)

    async def __call__(self, request: Request) -> Reply:
        self.asked += 1
        return Reply(201, {"status": {"allowed": self.allowed}})


async def test_an_answer_counts_for_a_short_time() -> None:
    server = _Reviewer()
    right = Right("list", CLUSTERS)
    assert await server.rights.has(right)
    server.allowed = False
    assert await server.rights.has(right)
    server.now += REVIEW_LIFE
    assert not await server.rights.has(right)
    assert server.asked == 2


async def test_answers_do_not_grow_without_a_limit() -> None:
    server = _Reviewer()
    for number in range(MOST_REVIEWS + 10):
        await server.rights.has(Right("list", CLUSTERS, f"n{number}"))
    assert len(server.rights._answers) == MOST_REVIEWS
    server.now += REVIEW_LIFE
    await server.rights.has(Right("list", CLUSTERS, "another"))
    assert len(server.rights._answers) == 1


class _Namespaces:
    """An API server with many namespaces, in each of which the viewer may list clusters."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.running = self.most_running = 0

    async def __call__(self, request: Request) -> Reply:
        if request.method == "GET":
            items = [{"metadata": {"name": f"n{number:04}"}} for number in range(self.count)]
            return Reply(200, {"items": items, "metadata": {"resourceVersion": "1"}})
        assert isinstance(request.body, dict)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        attributes = request.body["spec"]["resourceAttributes"]
        return Reply(201, {"status": {"allowed": bool(attributes.get("namespace"))}})


async def test_permissions_in_namespaces_are_read_in_parallel_and_the_rest_counted() -> None:
    server = _Namespaces(MOST_NAMESPACES + 7)
    rights = Rights(Client(server), lambda: datetime(2026, 1, 1, tzinfo=UTC))
    names, untried = await rights.namespaces_with("list", CLUSTERS)
    assert (len(names), untried) == (MOST_NAMESPACES, 7)
    assert 1 < server.most_running <= MAX_CONCURRENT


async def test_a_right_on_all_objects_is_one_on_each_of_them() -> None:
    server = _Reviewer()
    for number in range(100):
        assert await server.rights.has(Right("delete", CLUSTERS, "default", f"c{number}"))
    assert server.asked == 1
