"""Controllers write the same through a cache over a network as through one in their process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import pytest

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.apps.manifests import class_sample, sample
from kapy.client.client import Client
from kapy.conditions import is_true
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.core.topology.topology_story import is_settled
from tests.stories.networked import controllers_behind
from tests.stories.plane import own_kinds, running

RANDOM = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?=$|/|-)")
NAME = "capybara"
KEY = Key("default", NAME)


class Writes:
    """The writes of a plane's controllers. managed_fields: writes that name managedFields.
    reads: of single Clusters, which a cache makes needless."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self.statuses = 0
        self.managed_fields: Counter[str] = Counter()
        self.reads = 0

    def on(self, transport: Transport) -> Transport:
        async def noted(request: Request) -> Reply:
            if request.method != "GET":
                self._note(request)
            elif request.path.endswith(f"/clusters/{NAME}"):
                self.reads += 1
            return await transport(request)

        return noted

    def _note(self, request: Request) -> None:
        path = RANDOM.sub("-RANDOM", request.path)
        if path.endswith("/status"):
            # The number of changes in one status depends on the time at which events arrive.
            self.statuses += 1
        elif "/events" not in path:
            self.requests[request.method, path] += 1
        if "managedFields" in str(request.body):
            self.managed_fields[path] += 1


@asynccontextmanager
async def plane(
    monkeypatch: pytest.MonkeyPatch, *, network: bool
) -> AsyncIterator[tuple[Story, Writes]]:
    """A story on a plane, and what its controllers write."""
    writes = Writes()
    with controllers_behind(monkeypatch, network=network, wrap=writes.on):
        async with running() as there:
            yield Story(there.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS]), writes


async def create(story: Story, documents: Iterable[Document]) -> None:
    """Create objects as kubectl does."""
    person = Client(story.client.transport, field_manager="kubectl-client-side-apply")
    for document in documents:
        placed = {**document, "metadata": {"namespace": "default", **document["metadata"]}}
        await person.create(story.resource_of(placed), placed)


async def plain_life(story: Story) -> Document:
    """A cluster without a class is created, scaled, upgraded, left alone and deleted."""
    await create(story, sample())
    await story.until(Cluster, NAME, is_available)
    control_plane, workers = Key("default", f"{NAME}-control-plane"), Key("default", f"{NAME}-md-0")
    version = {"spec": {"template": {"spec": {"version": "v1.34.1"}}}}
    for kind, key, patch in (
        (KubeadmControlPlane, control_plane, {"spec": {"replicas": 3}}),
        (MachineDeployment, workers, {"spec": {"replicas": 3}}),
        (KubeadmControlPlane, control_plane, {"spec": {"version": "v1.34.1"}}),
        (MachineDeployment, workers, version),
    ):
        await story.client.patch(kind.RESOURCE, key, patch)
        await story.settle(600)
    await story.until(Cluster, NAME, is_available)
    return await end(story)


def is_available(cluster: Cluster) -> bool:
    return is_true(cluster.status.conditions, "Available")


async def class_life(story: Story) -> Document:
    """A cluster of a class is created, scaled, labelled, left alone and deleted."""
    await create(story, class_sample())
    await story.until(Cluster, NAME, is_settled)
    for patch in (
        {"spec": {"topology": {"controlPlane": {"replicas": 3}}}},
        {"spec": {"topology": {"controlPlane": {"metadata": {"labels": {"a": "b"}}}}}},
        {"spec": {"topology": {"controlPlane": {"metadata": {"labels": {"a": None}}}}}},
    ):
        await story.client.patch(Cluster, KEY, patch)
        await story.settle(5)
        await story.until(Cluster, NAME, is_settled)
    return await end(story)


async def end(story: Story) -> Document:
    """The Cluster after a long time; then it is deleted."""
    await story.settle(1200)
    document = await story.client.get(Cluster.RESOURCE, KEY)
    await story.client.delete(Cluster, KEY)
    await story.until_gone(Cluster, NAME)
    return document


@pytest.mark.parametrize("life", [plain_life, class_life])
async def test_a_cache_over_a_network_makes_controllers_write_nothing_else(
    monkeypatch: pytest.MonkeyPatch, life: Callable[[Story], Awaitable[Document]]
) -> None:
    """No whole object is compared: names and moments differ between two planes."""
    results = []
    for network in (False, True):
        async with plane(monkeypatch, network=network) as (story, writes):
            document = await life(story)
        managers = sorted(
            (field["manager"], field["operation"], field.get("subresource", ""))
            for field in document["metadata"]["managedFields"]
        )
        assert ("kubectl-client-side-apply", "Update", "") in managers
        results.append((writes, managers))
    (near, of_near), (far, of_far) = results
    assert far.managed_fields == near.managed_fields
    assert not any("/clusters/" in path for path in far.managed_fields)
    assert far.requests == near.requests
    assert of_far == of_near
    assert far.reads == near.reads
    assert abs(far.statuses - near.statuses) <= 0.1 * near.statuses
