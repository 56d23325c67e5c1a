"""Clusters of a plane, and the one extension that all of them have to ask."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.conditions.lookup import is_true, message_of
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.testing.story import Story
from tests.core.topology.topology_story import class_objects, cluster
from tests.hooks.extension import Extension, Network, config
from tests.stories.plane import own_kinds
from tests.stories.test_extensions import discovered, running_with

NUMBER: Final = 1000 if os.environ.get("KAPY_SOAK") else 60
"""A thousand come back as sixty do, and take a minute."""
AWAY: Final = 40
HELD: Final = "no room"


def clusters() -> list[Document]:
    document = cluster()
    return [
        {**document, "metadata": {**document["metadata"], "name": f"h{number}"}}
        for number in range(NUMBER)
    ]


async def waiting(story: Story, text: str) -> int:
    """Return the number of Clusters whose condition reports that they wait for something."""
    listed = await story.client.list(Cluster.RESOURCE, "default")
    of_clusters = [read(document, Cluster).status.conditions for document in listed.items]
    return sum(text in message_of(conditions, "TopologyReconciled") for conditions in of_clusters)


async def test_waiting_clusters_are_requeued_one_after_the_other() -> None:
    """It is away while they are made; when it is back, each asks once, a few at a time."""
    quota = Extension(quota=("BeforeClusterCreate", {"retryAfterSeconds": 3600, "message": HELD}))
    async with running_with(Network(quota=quota)) as plane:
        story = Story(plane.client, own_kinds())
        await story.create([config("quota"), *class_objects()])
        await discovered(story, "quota")
        await story.until(
            ClusterClass,
            "meadow",
            lambda cluster_class: is_true(cluster_class.status.conditions, "VariablesReady"),
        )
        quota.down = "EOF"
        await story.create(clusters())
        await asyncio.sleep(AWAY)
        assert await waiting(story, "EOF") == NUMBER
        while_away = len(quota.calls())
        quota.down = ""
        await asyncio.sleep(30 + NUMBER / 100)
        assert await waiting(story, HELD) == NUMBER
    assert while_away < 12
    times = [entry.at for entry in quota.asked if entry.handler == "quota"][while_away:]
    assert len(times) == NUMBER
    assert max(sum(at <= time < at + 0.1 for time in times) for at in times) < 20
