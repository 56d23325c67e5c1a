"""A server that is too old counts as one that is away: nothing is asked of it but its version."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from kapy.client.server_version import OLDEST, OLDEST_WITH_CLASSES, MinimumVersion, version_problem
from kapy.engine.availability import ServerAvailabilityGate
from kapy.kube import Document
from kapy.kube.http import Reply, Request


class Far:
    """A server that tells a version. status: how it answers when asked for it."""

    over_network, host = True, "far:6443"

    def __init__(self, version: str, status: int = 200) -> None:
        self.version, self.status = version, status
        self.asked: list[str] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request.path)
        if request.path != "/version":
            return Reply(200, {})
        body: Document = {"gitVersion": self.version} if self.status == 200 else {}
        return Reply(self.status, body)


@pytest.mark.parametrize(
    ("version", "needed", "is_old"),
    [
        ("v1.19.16", OLDEST, True),
        ("v1.20.0", OLDEST, False),
        ("v1.20.0-rc.1", OLDEST, False),
        ("v1.21.14", OLDEST_WITH_CLASSES, True),
        ("v1.21.14-eks-ffeb93d", OLDEST_WITH_CLASSES, True),
        ("v1.22.0+k3s1", OLDEST_WITH_CLASSES, False),
        ("v1.9.11", OLDEST, True),
        ("v2.0.0", OLDEST, False),
        ("1.35+", OLDEST, False),
        ("main", OLDEST, False),
        ("", OLDEST, False),
    ],
)
def test_versions_are_compared_by_their_numbers(
    version: str, needed: MinimumVersion, is_old: bool
) -> None:
    problem = version_problem({"gitVersion": version}, needed)
    assert bool(problem) == is_old
    assert not is_old or (version in problem and needed.version in problem)


async def test_nothing_is_asked_of_a_server_that_is_too_old_until_it_is_upgraded() -> None:
    far = Far("v1.21.14")
    reach = ServerAvailabilityGate(far, Random(1), OLDEST_WITH_CLASSES)
    assert "not asked for its version yet" in reach.unavailable_reason
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(reach(Request("GET", f"/{number}"))) for number in range(50)]
        await asyncio.sleep(3600)
        assert reach.unavailable_reason == (
            "far:6443 cannot be used: it is Kubernetes v1.21.14, which is too old: v1.22.0 or "
            "newer is needed with the feature gate ClusterTopology; upgrade it"
        )
        assert set(far.asked) == {"/version"}
        assert len(far.asked) < 1800
        far.version = "v1.22.17"
        await asyncio.sleep(5)
        assert reach.unavailable_reason == ""
        assert all(item.done() for item in asking)


@pytest.mark.parametrize(("status", "is_away"), [(404, False), (403, False), (503, True)])
async def test_a_server_without_a_version_passes_and_a_failing_one_is_asked_again(
    status: int, is_away: bool
) -> None:
    far = Far("v1.34.0", status)
    reach = ServerAvailabilityGate(far, Random(1), OLDEST)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(reach(Request("GET", "/api")))
        await asyncio.sleep(60)
        assert bool(reach.unavailable_reason) == (not asking.done()) == is_away
        far.status = 200
        await asyncio.sleep(5)
        assert asking.done()


async def test_a_healthy_server_gets_one_request() -> None:
    far = Far("v1.34.0")
    reach = ServerAvailabilityGate(far, Random(1), OLDEST)
    for _ in range(3):
        await reach(Request("GET", "/api"))
    assert far.asked == ["/version", "/api", "/api", "/api"]
