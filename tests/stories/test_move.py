"""Clusters that are moved between two whole planes, and live on there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.apps.manifests import class_sample, sample
from kapy.client.client import Client
from kapy.clusterctl.move.journal import Journal, Mode, MoveStarted, Place
from kapy.clusterctl.move.log import no_log
from kapy.clusterctl.move.mover import Mover
from kapy.clusterctl.move.preflight import start_move
from kapy.kube import Document, Key
from kapy.kube.http import Request
from kapy.testing.story import Story
from tests.clusterctl.move.killed_process import Killed, Life
from tests.stories.plane import running_plane

CLUSTER, WORKERS = "capybara", "capybara-md-0"
BEGUN = MoveStarted("1", Mode.CLUSTERS, "default", Place(), Place())


def is_available(cluster: Cluster) -> bool:
    conditions = cluster.status.conditions or []
    return any(
        condition.type == "Available" and condition.status == "True" for condition in conditions
    )


async def available(story: Story) -> None:
    await story.until(Cluster, CLUSTER, is_available)
    await story.until(
        MachineDeployment, WORKERS, lambda deployment: deployment.status.available_replicas == 2
    )


async def begun(here: Client, there: Client, path: Path) -> Mover:
    journal = await start_move(here, there, BEGUN, path, no_log)
    return Mover(here, there, journal, no_log)


async def machines(story: Story) -> dict[str, str]:
    """The machines and their addresses at the provider."""
    return {
        machine.metadata.name: machine.spec.provider_id or ""
        for machine in await story.all(Machine)
    }


async def scale_workers(story: Story) -> None:
    cluster = await story.client.get(Cluster, Key("default", CLUSTER))
    if cluster.spec.topology is None:
        await story.merge(MachineDeployment, WORKERS, {"spec": {"replicas": 3}})
        return
    group = {"class": "grazer", "name": "md-0", "replicas": 3}
    topology = {"workers": {"machineDeployments": [group]}}
    await story.merge(Cluster, CLUSTER, {"spec": {"topology": topology}})


@pytest.mark.parametrize("objects", [sample, class_sample], ids=["plain", "of-a-class"])
async def test_a_cluster_lives_on_where_it_was_moved_to(
    tmp_path: Path, objects: Callable[[], list[Document]]
) -> None:
    async with running_plane() as here, running_plane(seed=1) as there:
        await here.create(objects())
        await available(here)
        before = await machines(here)
        await (await begun(here.client, there.client, tmp_path / "j.jsonl")).run()
        await available(there)
        assert await machines(there) == before
        assert await here.all(Cluster) == []
        await scale_workers(there)
        await there.until(
            MachineDeployment, WORKERS, lambda deployment: deployment.status.available_replicas == 3
        )
        await here.settle()
        assert await here.all(Machine) == []
        await there.client.delete(Cluster, Key("default", CLUSTER))
        await there.until_gone(Cluster, CLUSTER)


def deletes_a_machine(request: Request) -> bool:
    return request.method == "DELETE" and "/machines/" in request.path


def lets_the_target_work(request: Request) -> bool:
    return request.method == "PATCH" and request.body == {"spec": {"paused": None}}


@pytest.mark.parametrize("last", [deletes_a_machine, lets_the_target_work])
async def test_a_cluster_lives_on_where_it_was_when_the_move_is_undone(
    tmp_path: Path, last: Callable[[Request], bool]
) -> None:
    path = tmp_path / "j.jsonl"
    async with running_plane() as here, running_plane(seed=1) as there:
        await here.create(sample())
        await available(here)
        before = await machines(here)
        life = Life(acted_on=True, last=last)
        mover = await begun(life.client(here.client), life.client(there.client), path)
        with pytest.raises(Killed):
            await mover.run()
        mover.journal.close()
        await there.settle()  # whoever may work there does so meanwhile
        await Mover(here.client, there.client, Journal.open(path), no_log).roll_back()
        await here.settle()
        await available(here)
        assert (await machines(here), await there.all(Cluster)) == (before, [])
