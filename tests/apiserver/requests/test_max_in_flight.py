"""Tests of the limit of concurrent requests, and of the requests to which it does not apply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.admission.plugin import Review
from kapy.apiserver.request.limits.max_in_flight import Limits, is_long_running
from kapy.apiserver.server import Server
from kapy.kube.http import Request
from kapy.kube.names import Resource
from tests.apiserver.network_client import Calls
from tests.apiserver.requester import CONFIG_MAPS, Asking, config_map
from tests.apiserver.requests.test_metrics import scraped


class Slow:
    """Admission that takes its time, so that requests are under way."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    def handles(self, resource: Resource, subresource: str) -> bool:
        return resource.plural == "configmaps"

    async def default(self, review: Review) -> Any:
        await self.go.wait()
        return review.new

    async def validate(self, review: Review) -> tuple[str, ...]:
        return ()


@asynccontextmanager
async def busy(limits: Limits) -> AsyncIterator[Calls]:
    """A server on which as many writes are under way as may be."""
    slow = Slow()
    server = Server.open(None, clock=loop_clock(), admission=(slow,), limits=limits)
    everybody = Asking(server)
    async with asyncio.TaskGroup() as group, AsyncExitStack() as stack:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        role = {"kind": "ClusterRole", "name": "cluster-admin"}
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "ann"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **role},
            "subjects": [{"kind": "User", "name": "ann"}],
        }
        path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        await everybody.create(path, binding)
        calls = Calls(server)
        for number in range(limits.mutating):
            waiting = calls.call("POST", CONFIG_MAPS, config_map(f"a{number}"), token="ann")
            group.create_task(waiting)
        await asyncio.sleep(0.5)
        yield calls
        slow.go.set()
        stack.callback(running.cancel)


async def test_a_write_beyond_the_limit_gets_429() -> None:
    async with busy(Limits(mutating=2)) as calls:
        answer = await calls.call("POST", CONFIG_MAPS, config_map("b"), token="ann")
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert answer.body["reason"] == "TooManyRequests"
        await calls.call("POST", "/apis/made.up/v1/things", {}, token="ann")
        result = await scraped(calls)
        assert result.sum("apiserver_request_total", resource="things") == 0
        refused = {"verb": "POST", "resource": "configmaps", "code": "429"}
        assert result.sum("apiserver_request_total", **refused) == 1
        assert result.sum("apiserver_request_terminations_total", **refused) == 1
        assert result.sum("apiserver_current_inflight_requests", request_kind="mutating") == 2


@pytest.mark.parametrize(
    ("method", "target", "token"),
    [
        ("GET", CONFIG_MAPS, "ann"),  # reads are counted apart
        ("POST", f"{CONFIG_MAPS}?dryRun=All", "root"),  # system:masters are always answered
        ("GET", "/livez", ""),  # and so are probes
        ("POST", "/livez", "ann"),
    ],
)
async def test_requests_below_the_limit_are_answered(method: str, target: str, token: str) -> None:
    async with busy(Limits(mutating=2)) as calls, asyncio.TaskGroup() as group:
        body = config_map("b") if "dryRun" in target else None
        task = group.create_task(calls.call(method, target, body, token=token))
        await asyncio.sleep(0.5)
        if "dryRun" in target:
            assert not task.done()
            task.cancel()
        else:
            assert (await task).status != 429


async def test_slots_are_released_after_the_responses() -> None:
    async with busy(Limits(mutating=1)) as calls:
        pass
    answer = await calls.call("PUT", f"{CONFIG_MAPS}/a0", config_map("a0"), token="ann")
    assert answer.status != 429
    assert calls.server.max_in_flight.mutating.now == 0


async def test_watches_take_no_slots() -> None:
    async with busy(Limits(reading=1, mutating=1)) as calls, asyncio.TaskGroup() as group:
        for _ in range(3):
            target = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=5"
            group.create_task(calls.call("GET", target, token="ann"))
        await asyncio.sleep(1)
        assert (await calls.call("GET", CONFIG_MAPS, token="ann")).status == 200


@pytest.mark.parametrize(
    ("target", "watch", "is_one"),
    [
        ("/api/v1/pods", "true", True),
        ("/api/v1/pods", "", True),
        ("/api/v1/pods", "0", False),
        ("/api/v1/watch/pods", None, True),
        ("/apis/apps/v1/watch/namespaces/a/sets", None, True),
        ("/apis/apps/v1/namespaces/watch/sets", None, False),
        ("/api", None, False),
        ("/", None, False),
        ("/version", "true", False),
    ],
)
def test_a_watch_is_known_by_its_path_or_query(
    target: str, watch: str | None, is_one: bool
) -> None:
    query = {} if watch is None else {"watch": watch}
    assert is_long_running(Request("GET", target, query)) is is_one
