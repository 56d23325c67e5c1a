"""The Node of a Machine that goes is deleted, for as long as its time lasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kapy.api.machine import Machine
from kapy.kube import Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Request
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected
from kapy.remote.nodes import NodeDeletion, NodeDeletions
from tests.core.environment import Environment
from tests.core.machine.running_machine import delete, free, pod, pods, running

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Refusals:
    """A workload cluster that does not delete Nodes until `until` seconds after the first time it
    was asked to. asked: when it was."""

    def __init__(self, plane: Environment, error: type[Exception], until: float = 1e9) -> None:
        self._clock, self._error, self._until = plane.clock, error, timedelta(seconds=until)
        self.asked: list[datetime] = []
        plane.wire.fault = self.fault

    def fault(self, request: Request) -> Exception | None:
        if request.method != "DELETE" or "/nodes/" not in request.path:
            return None
        self.asked.append(self._clock())
        is_over = self.asked[-1] - self.asked[0] >= self._until
        return None if is_over else self._error("not now")


async def node_names(plane: Environment) -> list[str]:
    return [document["metadata"]["name"] for document in (await plane.workload.list(NODES)).items]


async def limited(plane: Environment, seconds: int) -> None:
    """A Machine with a Node that may be tried to delete for so long; its drain takes a minute."""
    await running(plane)
    patch: dict[str, Any] = {"spec": {"deletion": {"nodeDeletionTimeoutSeconds": seconds}}}
    await plane.story.merge(Machine, "m", patch)
    await pods(plane, pod("slow"))
    await delete(plane)
    await plane.settle(60)
    assert await node_names(plane) == ["m"]


async def test_a_drain_does_not_use_up_the_time(plane: Environment) -> None:
    await limited(plane, 10)
    refusals = Refusals(plane, Unreachable, until=8)
    await free(plane, "slow")
    await plane.story.until_gone(Machine, "m", within=30)
    assert len(refusals.asked) > 2
    assert await node_names(plane) == []


async def test_a_throttled_cluster_is_retried_later(plane: Environment) -> None:
    """No attempt reached it while our own back-off kept them: that is not its time."""
    await limited(plane, 10)
    refusals = Refusals(plane, NotConnected, until=25)
    await free(plane, "slow")
    await plane.story.until_gone(Machine, "m", within=60)
    assert len(refusals.asked) > 5
    assert await node_names(plane) == []


async def test_the_node_stays_when_its_deletion_times_out(plane: Environment) -> None:
    await limited(plane, 10)
    refusals = Refusals(plane, Unreachable)
    await free(plane, "slow")
    await plane.settle(8)
    assert await plane.story.get(Machine, "m") is not None
    await plane.story.until_gone(Machine, "m", within=20)
    assert timedelta(seconds=8) <= refusals.asked[-1] - refusals.asked[0]
    assert await node_names(plane) == ["m"]


async def test_without_a_timeout_the_node_is_deleted_in_the_end(plane: Environment) -> None:
    await limited(plane, 0)
    refusals = Refusals(plane, Unreachable, until=900)
    await free(plane, "slow")
    await plane.settle(600)
    assert await plane.story.get(Machine, "m") is not None
    await plane.story.until_gone(Machine, "m", within=900)
    assert await node_names(plane) == []
    assert len(refusals.asked) > 50


@pytest.mark.parametrize(
    ("limit", "after", "tries", "connected", "is_over"),
    [
        (10, 9, 5, True, False),
        (10, 10, 2, True, True),
        (10, 10, 1, True, False),  # the one attempt was not answered for as long
        (10, 10, 0, False, True),  # there is nobody to be asked
        (10, 9, 0, False, False),
        (0, 10_000, 5, True, False),
        (None, 10_000, 5, False, False),
    ],
)
def test_the_deletion_timeout_expires(
    limit: int | None, after: float, tries: int, *, connected: bool, is_over: bool
) -> None:
    deletion = NodeDeletion("uid", NOW, tries)
    now = NOW + timedelta(seconds=after)
    assert deletion.is_over(limit, now, connected=connected) is is_over


def test_another_machine_of_the_name_has_its_own_timeout() -> None:
    deletions, later = NodeDeletions(), NOW + timedelta(hours=1)
    key = Key("default", "m")
    assert deletions.of(key, "one", NOW).since == NOW
    assert deletions.of(key, "one", later).since == NOW
    assert deletions.of(key, "other", later).since == later
    deletions.forget(key)
    assert deletions.of(key, "one", later).since == later
