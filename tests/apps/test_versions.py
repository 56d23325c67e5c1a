"""A plane serves every version of a kind, and each reader sees its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, Forbidden, Invalid
from kapy.kube.http import Request
from kapy.kube.names import Resource

OLD = Resource("cluster.x-k8s.io", "v1beta1", "machines", "Machine")
NEW = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")
KEY = Key("default", "one")


def old_machine(**spec: object) -> Document:
    reference = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "DevMachine",
        "name": "one",
    }
    wanted = {
        "clusterName": "none",
        "bootstrap": {"dataSecretName": "boot"},
        "infrastructureRef": reference,
        **spec,
    }
    return {
        "apiVersion": OLD.api_version,
        "kind": "Machine",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": wanted,
    }


@asynccontextmanager
async def plane() -> AsyncIterator[Client]:
    async with management_plane(Settings(), clock=loop_clock()) as running:
        yield running.client


async def test_an_object_of_one_version_can_be_read_in_the_other() -> None:
    async with plane() as client:
        document = await client.create(OLD, old_machine(version="1.34.0", nodeDrainTimeout="90s"))
        assert document["apiVersion"] == OLD.api_version
        assert document["spec"]["version"] == "v1.34.0"
        assert document["spec"]["nodeDeletionTimeout"] == "10s"
        stored = await client.get(NEW, KEY)
        assert stored["spec"]["deletion"] == {
            "nodeDrainTimeoutSeconds": 90,
            "nodeDeletionTimeoutSeconds": 10,
        }
        assert "annotations" not in stored["metadata"]
        assert stored["spec"]["infrastructureRef"]["apiGroup"] == "infrastructure.cluster.x-k8s.io"


async def test_an_older_version_keeps_fields_that_it_lacks() -> None:
    async with plane() as client:
        await client.create(OLD, old_machine())
        await client.patch(NEW, KEY, {"spec": {"minReadySeconds": 7}})
        await client.patch(OLD, KEY, {"spec": {"nodeDrainTimeout": "5s"}})
        spec = (await client.get(NEW, KEY))["spec"]
        assert spec["minReadySeconds"] == 7
        assert spec["deletion"]["nodeDrainTimeoutSeconds"] == 5


async def test_a_watch_returns_objects_in_the_requested_version() -> None:
    async with plane() as client:
        await client.create(OLD, old_machine())
        async with client.watch(OLD, "default", initial_events=True) as events:
            event = await anext(aiter(events))
        assert event.document["apiVersion"] == OLD.api_version
        assert event.document["spec"]["infrastructureRef"]["namespace"] == "default"


async def test_fields_have_owners_across_versions() -> None:
    async with plane() as client:
        wanted = old_machine(nodeDrainTimeout="1m0s")
        await client.apply(OLD, wanted, field_manager="one")
        other = {
            "apiVersion": NEW.api_version,
            "kind": "Machine",
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {"deletion": {"nodeDrainTimeoutSeconds": 30}},
        }
        with pytest.raises(Conflict, match='conflict with "one"'):
            await client.apply(NEW, other, field_manager="two", force=False)
        await client.apply(NEW, other, field_manager="two", force=True)
        assert (await client.get(OLD, KEY))["spec"]["nodeDrainTimeout"] == "30s"


async def test_a_fault_in_an_older_version_names_its_own_field() -> None:
    async with plane() as client:
        with pytest.raises(Invalid, match=r"spec\.nodeDrainTimeout"):
            await client.create(OLD, old_machine(nodeDrainTimeout=90))


async def test_a_client_of_an_older_version_is_warned() -> None:
    async with plane() as client:
        reply = await client.transport(Request("GET", OLD.path("default")))
        assert "cluster.x-k8s.io/v1beta1 Machine is deprecated" in reply.headers["warning"]


async def test_a_control_plane_is_scaled_in_every_version() -> None:
    old, new = (
        Resource(
            "controlplane.cluster.x-k8s.io",
            version,
            "kubeadmcontrolplanes",
            "KubeadmControlPlane",
        )
        for version in ("v1beta1", "v1beta2")
    )
    reference = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "DevMachineTemplate",
        "name": "machines",
    }
    spec = {"version": "v1.34.0", "machineTemplate": {"infrastructureRef": reference}}
    async with plane() as client:
        wanted = {"metadata": {"name": "one", "namespace": "default"}, "spec": spec}
        await client.create(old, wanted | {"apiVersion": old.api_version, "kind": old.kind})
        for resource, replicas in ((old, 3), (new, 5)):
            await scale(client, resource, replicas)
            assert (await client.get(new, KEY))["spec"]["replicas"] == replicas
        for resource in (old, new):
            with pytest.raises(Forbidden, match="cannot be an even number when etcd is stacked"):
                await scale(client, resource, 2)


async def scale(client: Client, resource: Resource, replicas: int) -> None:
    await client.patch(resource, KEY, {"spec": {"replicas": replicas}}, subresource="scale")
