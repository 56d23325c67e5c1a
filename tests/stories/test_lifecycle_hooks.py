"""A cluster of a ClusterClass whose life extensions hold at every step, once for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation
from kapy.apps import core_controllers
from kapy.conditions import is_true, message_of
from kapy.core.topology.controller import add_to
from kapy.kube import Key
from kapy.testing.story import STEP, Story
from kapy.topology.hooks import Answer, Hook
from tests.stories.plane import running_plane
from tests.stories.test_upgrades import CLASS, MIDDLE, NEW, OLD, RECONCILED, upgrade
from tests.topology.test_hooks_of_upgrades import Extension

SECONDS = 8


class Reluctant(Extension):
    """Says "not yet" when it is asked something for the first time."""

    def _answer(self, hook: Hook, cluster: Cluster, *facts: object) -> Answer:
        calls = set(self.asked)
        super()._answer(hook, cluster, *facts)
        return Answer() if self.asked[-1] in calls else Answer(SECONDS, "not yet")


def blocked(hook: Hook, action: str = "upgrade") -> str:
    return f"Following hooks are blocking {action}: {hook}: not yet"


async def told(story: Story, until: Callable[[Cluster], bool]) -> list[tuple[str, str, str]]:
    """Return the successive messages of the Cluster, until a condition holds. Each has the first
    line that names no upgrade, and the last pending hooks and upgrade step of that message."""
    messages: list[tuple[str, str, str]] = []
    while True:
        cluster = await story.until(Cluster, "herd", lambda value: bool(value.status.conditions))
        message = message_of(cluster.status.conditions, RECONCILED) or "reconciled"
        annotations = cluster.metadata.annotations
        line = next(part for part in message.split("\n  * ") if "is upgrading to" not in part)
        owed = annotations.get(Annotation.PENDING_HOOKS, "")
        if messages and messages[-1][0] == line:
            messages.pop()
        messages.append((line, owed, annotations.get(Annotation.TOPOLOGY_UPGRADE_STEP, "")))
        if until(cluster):
            return messages
        await asyncio.sleep(STEP)


def is_upgrading(cluster: Cluster) -> bool:
    return not is_true(cluster.status.conditions, RECONCILED)


async def test_a_blocking_hook_delays_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    extension = Reluctant()
    monkeypatch.setattr(core_controllers, "add_topologies", partial(add_to, hooks=extension))
    async with running_plane() as story:
        await story.create(CLASS)
        created = await told(story, lambda cluster: is_true(cluster.status.conditions, "Available"))
        assert created == [
            (blocked(Hook.BEFORE_CLUSTER_CREATE, "Cluster topology creation"), "", ""),
            ("reconciled", "", ""),
        ]
        await upgrade(story, NEW)
        await story.until(Cluster, "herd", is_upgrading)
        upgraded = await told(story, lambda cluster: not is_upgrading(cluster))
        east, west = [
            machine_deployment.metadata.name
            for machine_deployment in sorted(
                await story.all(MachineDeployment),
                key=lambda machine_deployment: machine_deployment.metadata.name,
            )
        ]
        text, both = "AfterClusterUpgrade", "AfterClusterUpgrade,AfterControlPlaneUpgrade"
        workers = "AfterClusterUpgrade,AfterWorkersUpgrade"
        everything = f"{both},AfterWorkersUpgrade,BeforeWorkersUpgrade"
        plane = "KubeadmControlPlane upgrading to version"
        assert upgraded == [
            (blocked(Hook.BEFORE_CLUSTER_UPGRADE), "", ""),
            (blocked(Hook.BEFORE_CONTROL_PLANE_UPGRADE), text, OLD),
            (f"{plane} {MIDDLE} ({NEW} pending)", both, MIDDLE),
            (blocked(Hook.AFTER_CONTROL_PLANE_UPGRADE), both, MIDDLE),
            (blocked(Hook.BEFORE_CONTROL_PLANE_UPGRADE), text, MIDDLE),
            (f"{plane} {NEW}", everything, NEW),
            (blocked(Hook.AFTER_CONTROL_PLANE_UPGRADE), everything, NEW),
            (blocked(Hook.BEFORE_WORKERS_UPGRADE), f"{workers},BeforeWorkersUpgrade", NEW),
            (f"MachineDeployment {east} upgrading to version {NEW}", workers, NEW),
            (f"MachineDeployment {west} upgrading to version {NEW}", workers, NEW),
            (blocked(Hook.AFTER_WORKERS_UPGRADE), workers, NEW),
            (blocked(Hook.AFTER_CLUSTER_UPGRADE), text, NEW),
            ("reconciled", "", ""),
        ]
        await story.client.delete(Cluster, Key("default", "herd"))
        await story.until(
            Cluster,
            "herd",
            lambda cluster: (
                message_of(cluster.status.conditions, RECONCILED)
                == f"Cluster is deleting. {blocked(Hook.BEFORE_CLUSTER_DELETE, 'delete')}"
            ),
        )
        await story.until_gone(Cluster, "herd")
