"""A program that starts again writes nothing until it knows more than the objects say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.apps.all_in_one import management_plane
from kapy.apps.manifests import class_sample
from kapy.apps.settings import Settings
from kapy.kube import Document, yaml
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.core.topology.herd import is_settled
from tests.stories.plane import own_kinds

KINDS = (*own_kinds(), NAMESPACES, CONFIG_MAPS, SECRETS)

ADDONS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: addon, namespace: default}
data: {addon.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: addon, namespace: default}}"}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: addons, namespace: default}
spec:
  clusterSelector: {matchLabels: {cluster.x-k8s.io/cluster-name: capybara}}
  resources: [{kind: ConfigMap, name: addon}]
  strategy: Reconcile
"""


@asynccontextmanager
async def plane(folder: Path, seed: int) -> AsyncIterator[Story]:
    settings = Settings(data=folder)
    async with management_plane(settings, clock=loop_clock(), random=Random(seed)) as there:
        yield Story(there.client, KINDS)


async def objects(story: Story) -> dict[tuple[str, str], Document]:
    return {
        (kind.kind, one["metadata"]["name"]): one
        for kind in KINDS
        for one in (await story.client.list(kind)).items
    }


async def test_a_restart_changes_no_object(tmp_path: Path) -> None:
    async with plane(tmp_path, 0) as story:
        await story.create(class_sample())
        await story.create(yaml.load_all(ADDONS))
        await story.until(Cluster, "capybara", is_settled)
        await story.until(ClusterResourceSet, "addons", lambda one: one.status.conditions)
        await story.settle(300)
        before = await objects(story)
    assert len(before) > 20
    async with plane(tmp_path, 1) as story:
        await asyncio.sleep(600)
        after = await objects(story)
    assert {
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    } == set()
