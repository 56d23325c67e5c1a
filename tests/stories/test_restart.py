"""A program that starts again writes nothing until it knows more than the objects say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from kapy._aio.clock import Clock, loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.machine_pool import MachinePool
from kapy.apps.all_in_one import management_plane
from kapy.apps.manifests import class_sample
from kapy.apps.settings import Settings
from kapy.kube import Document, yaml
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import CONFIG_MAPS, CRDS, DEPLOYMENTS, EVENTS, NAMESPACES, PODS, SECRETS
from kapy.testing.story import Story
from tests.core.topology.topology_story import is_settled
from tests.machine_pool import machine_pool
from tests.stories.networked import controllers_behind
from tests.stories.plane import own_kinds

BUILT_IN = (CONFIG_MAPS, CRDS, DEPLOYMENTS, EVENTS, NAMESPACES, PODS, SECRETS)
KINDS = (*own_kinds(), *BUILT_IN)

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
async def plane(folder: Path, seed: int, clock: Clock) -> AsyncIterator[Story]:
    settings = Settings(data=folder, inventory=True)
    async with management_plane(settings, clock=clock, random=Random(seed)) as there:
        yield Story(there.client, KINDS)


async def objects(story: Story) -> dict[tuple[str, str], Document]:
    return {
        (kind.kind, document["metadata"]["name"]): document
        for kind in KINDS
        for document in (await story.client.list(kind)).items
    }


class Writes:
    """The requests of controllers, without reads."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def on(self, transport: Transport) -> Transport:
        async def noted(request: Request) -> Reply:
            if request.method != "GET":
                self.requests.append(f"{request.method} {request.path}")
            return await transport(request)

        return noted


@pytest.mark.parametrize("network", [False, True])
async def test_a_restart_writes_nothing(
    network: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, writes = loop_clock(), Writes()
    with controllers_behind(monkeypatch, network=network, wrap=writes.on):
        await live_and_restart(tmp_path, clock, writes)


async def live_and_restart(tmp_path: Path, clock: Clock, writes: Writes) -> None:
    """A plane that starts again writes nothing, and no object is another one."""
    async with plane(tmp_path, 0, clock) as story:
        await story.create(class_sample())
        await story.create([*yaml.load_all(ADDONS), *machine_pool("pool")])
        await story.until(MachinePool, "pool", lambda value: value.status.phase == "Running")
        await story.until(Cluster, "capybara", is_settled)
        await story.until(
            ClusterResourceSet, "addons", lambda resource_set: resource_set.status.conditions
        )
        await story.settle(300)
        before = await objects(story)
    assert len(before) > 20
    assert writes.requests
    writes.requests.clear()
    async with plane(tmp_path, 1, clock) as story:
        await asyncio.sleep(600)
        after = await objects(story)
    assert {
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    } == set()
    assert writes.requests == []
