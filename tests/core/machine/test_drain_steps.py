"""Tests of the time limits of deletion steps, and of Machines that are deleted without a drain."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.core.machine.drain_steps import is_over
from kapy.kube import Key
from kapy.kube.names import NODES
from tests.core.environment import INFRA_MACHINES, Environment
from tests.core.machine.running_machine import condition, delete, found, pod, pods, running

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOLD = {"metadata": {"finalizers": ["test.example.com/hold"]}}


@pytest.mark.parametrize(
    ("started", "limit", "over"),
    [
        (None, 10, False),
        ("2026-01-01T11:59:51Z", 10, False),
        ("2026-01-01T11:59:50Z", 10, True),
        ("2025-01-01T00:00:00Z", 0, False),  # no limit
        ("2025-01-01T00:00:00Z", None, False),
        ("2025-01-01T00:00:00Z", -1, False),
    ],
)
def test_a_step_ends_at_its_timeout(started: str | None, limit: int | None, *, over: bool) -> None:
    assert is_over(started, limit, NOW) is over


async def test_a_machine_is_not_drained_after_its_drain_has_ended(plane: Environment) -> None:
    """Its infrastructure may be partly deleted, so Pods on it cannot terminate gracefully."""
    await running(plane)
    await pods(plane, pod("app"))
    await plane.client.patch(INFRA_MACHINES, Key("default", "m"), HOLD)
    await plane.client.delete(INFRA_MACHINES, Key("default", "m"))
    await delete(plane)
    assert condition(await found(plane), "Deleting").reason == "WaitingForInfrastructureDeletion"
    node = await plane.workload.get(NODES, Key("", "m"))
    assert not node["spec"].get("unschedulable")


async def test_machines_of_a_cluster_that_is_deleted_are_not_drained(plane: Environment) -> None:
    await running(plane)
    await pods(plane, pod("app"))
    await plane.client.delete(Cluster, Key("default", "c"))
    await plane.story.until_gone(Machine, "m", within=60)
    node = await plane.workload.get(NODES, Key("", "m"))
    assert not node["spec"].get("unschedulable")
