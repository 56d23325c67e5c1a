"""Objects that nobody serves say so once, and belong to whoever comes to serve them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.apps.all_in_one import Plane
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.providers.unserved import NOT_SERVED
from tests.stories.plane import running, running_plane, sample

GROUP = "infrastructure.cluster.x-k8s.io"
DOCKER: Document = {"backend": {"docker": {}}}
LONG = 60.0
"""Seconds of virtual time after which nothing more comes."""

POOL: Document = {"template": {}}


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running() as plane:
        yield plane


def resource(kind: str, version: str = "v1beta2") -> Resource:
    return Resource(GROUP, version, f"{kind.lower()}s", kind)


async def made(client: Client, kind: str, spec: Document, **metadata: Any) -> Key:
    document = {
        "metadata": {"generateName": "one-", "namespace": "default", **metadata},
        "spec": spec,
    }
    created = {"apiVersion": f"{GROUP}/v1beta2", "kind": kind, **document}
    return Key.of(await client.create(resource(kind), created))


def ready(conditions: list[Document] | None) -> list[tuple[str, str, str]]:
    return [
        (one["status"], one["reason"], one["message"])
        for one in conditions or []
        if one["type"] == "Ready"
    ]


UNSERVED = [
    ("DevCluster", DOCKER, "spec.backend.docker; use spec.backend.inMemory"),
    ("DevMachine", DOCKER, "spec.backend.docker; use spec.backend.inMemory"),
    ("DevMachine", {}, "spec.backend.docker; use spec.backend.inMemory"),
    ("DockerCluster", {}, "DockerClusters; use a DevCluster with spec.backend.inMemory"),
    ("DockerMachine", {}, "DockerMachines; use DevMachines with spec.backend.inMemory"),
    ("DockerMachinePool", POOL, "DockerMachinePools; use a DevMachinePool with"),
    ("DevMachinePool", DOCKER, "spec.backend.docker; use spec.backend.inMemory"),
]


async def test_objects_that_nobody_serves_say_what_to_use_instead(plane: Plane) -> None:
    keys = [await made(plane.client, kind, spec) for kind, spec, _ in UNSERVED]
    await asyncio.sleep(LONG)
    for key, (kind, _, why) in zip(keys, UNSERVED, strict=True):
        stored = await plane.client.get(resource(kind), key)
        [(status, reason, message)] = ready(stored["status"]["conditions"])
        assert (status, reason) == ("False", NOT_SERVED)
        assert why in message
        assert "finalizers" not in stored["metadata"]
        if kind != "DevMachinePool":  # it has no older version
            old = await plane.client.get(resource(kind, "v1beta1"), key)
            assert ready(old["status"]["conditions"]) == [(status, reason, message)]


def of_containers(document: Document) -> Document:
    """An object of the sample cluster as the Docker provider's manifests have it."""
    text = json.dumps(document).replace('"DevCluster', '"DockerCluster')
    found: Document = json.loads(text.replace('"DevMachine', '"DockerMachine'))
    if found["kind"] == "DockerCluster":
        found["spec"] = {}
    if found["kind"] == "DockerMachineTemplate":
        found["spec"] = {"template": {"spec": {}}}
    return found


async def test_a_cluster_of_containers_says_why_it_waits_and_can_be_deleted() -> None:
    async with running_plane() as story:
        await story.create([of_containers(one) for one in sample()])
        await asyncio.sleep(LONG)
        cluster = await story.get(Cluster, "capybara")
        assert cluster is not None
        [why] = [one for one in cluster.status.conditions if one.type == "InfrastructureReady"]
        assert (why.status, why.reason) == ("False", NOT_SERVED)
        assert "use a DevCluster" in why.message
        await story.client.delete(Cluster, cluster.key)
        await asyncio.sleep(LONG)
        assert await story.get(Cluster, "capybara") is None


async def test_who_serves_the_kind_has_the_last_word(plane: Plane) -> None:
    """And is not answered: the object is as he left it, and gone when he lets it go."""
    client, kind = plane.client, resource("DockerCluster")
    key = await made(client, "DockerCluster", {}, finalizers=["dockercluster.example.com"])
    await asyncio.sleep(LONG)
    theirs = {"status": {"conditions": [a_condition("True"), a_condition("True", "Other")]}}
    written = await client.patch(kind, key, theirs, subresource="status")
    await asyncio.sleep(LONG)
    assert await client.get(kind, key) == written


async def test_what_others_hold_or_serve_is_left_alone(plane: Plane) -> None:
    others: list[tuple[str, Document, Document]] = [
        ("DockerCluster", {}, {"annotations": {"cluster.x-k8s.io/paused": ""}}),
        ("DockerCluster", {}, {"annotations": {"cluster.x-k8s.io/managed-by": "somebody"}}),
        ("DevCluster", {"backend": {"inMemory": {}}}, {}),
    ]
    keys = [await made(plane.client, kind, spec, **more) for kind, spec, more in others]
    await asyncio.sleep(LONG)
    for key, (kind, _, _) in zip(keys, others, strict=True):
        stored = await plane.client.get(resource(kind), key)
        assert ready(stored.get("status", {}).get("conditions")) == []


def a_condition(status: str, type_: str = "Ready") -> Document:
    return {
        "type": type_,
        "status": status,
        "reason": "TheirReason",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
