"""The kinds of dynamic resource allocation, for which schedulers and autoscalers wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN
from kapy.kube.names import Resource

GROUP = "resource.k8s.io"
CLASSES = Resource(GROUP, "v1", "deviceclasses", "DeviceClass", namespaced=False)
CLAIMS = Resource(GROUP, "v1", "resourceclaims", "ResourceClaim")
TEMPLATES = Resource(GROUP, "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
SLICES = Resource(GROUP, "v1", "resourceslices", "ResourceSlice", namespaced=False)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    server = Server.open(None, clock=loop_clock())
    try:
        async with run_services(server=server.run):
            await asyncio.sleep(0)
            yield Client(server.transport(ADMIN), field_manager="unit")
    finally:
        server.close()


def made(resource: Resource, spec: Document, **more: Any) -> Document:
    metadata = {"name": "one"} | ({"namespace": "default"} if resource.namespaced else {})
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**kind, "metadata": metadata, "spec": spec, **more}


async def test_discovery_lists_the_device_kinds_of_kubernetes_1_36(client: Client) -> None:
    document = await client.raw("GET", f"/apis/{GROUP}/v1")
    assert [(resource["name"], resource["namespaced"]) for resource in document["resources"]] == [
        ("deviceclasses", False),
        ("resourceclaims", True),
        ("resourceclaims/status", True),
        ("resourceclaimtemplates", True),
        ("resourceslices", False),
    ]


async def test_requests_for_devices_have_defaults(client: Client) -> None:
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "x"}},
        {"name": "b", "exactly": {"deviceClassName": "x", "allocationMode": "All"}},
        {"name": "c", "firstAvailable": [{"name": "d", "deviceClassName": "x"}]},
    ]
    exact = {"deviceClassName": "x", "allocationMode": "ExactCount", "count": 1}
    expected = [
        {"name": "a", "exactly": exact},
        {"name": "b", "exactly": {"deviceClassName": "x", "allocationMode": "All"}},
        {"name": "c", "firstAvailable": [{"name": "d", **exact}]},
    ]
    spec = {"devices": {"requests": requests}}
    status: Document = {"allocation": {"devices": {}}}
    claim = await client.create(CLAIMS, made(CLAIMS, spec, status=status))
    assert claim["spec"]["devices"]["requests"] == expected
    assert claim["status"] == {}
    template = await client.create(TEMPLATES, made(TEMPLATES, {"metadata": {}, "spec": spec}))
    assert template["spec"]["spec"]["devices"]["requests"] == expected


async def test_slices_are_selected_by_node_and_driver_and_count_generations(
    client: Client,
) -> None:
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    mapping = {"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "x.example.com/cpu"}}}
    devices = [{"name": "gpu-0", "attributes": {"model": {"string": "m"}}, **mapping}]
    spec = {"driver": "gpu.example.com", "pool": pool, "nodeName": "n1", "devices": devices}
    first = await client.create(SLICES, made(SLICES, spec))
    assert first["metadata"]["generation"] == 1
    cpu = first["spec"]["devices"][0]["nodeAllocatableResourceMappings"]["cpu"]
    assert cpu["allocationMultiplier"] == "1"
    patch: Document = {"spec": {"devices": []}}
    assert (await client.patch(SLICES, Key("", "one"), patch))["metadata"]["generation"] == 2
    for selector, count in (
        ("spec.nodeName=n1", 1),
        ("spec.nodeName=n2", 0),
        ("spec.driver=gpu.example.com", 1),
    ):
        path = f"/apis/{GROUP}/v1/resourceslices"
        document = await client.raw("GET", path, query={"fieldSelector": selector})
        assert len(document["items"]) == count


async def test_changes_of_a_device_class_increase_its_generation(client: Client) -> None:
    created = await client.create(CLASSES, made(CLASSES, {}))
    assert created["metadata"]["generation"] == 1
    selectors = [{"cel": {"expression": "true"}}]
    cluster_class = await client.patch(CLASSES, Key("", "one"), {"spec": {"selectors": selectors}})
    assert cluster_class["metadata"]["generation"] == 2
