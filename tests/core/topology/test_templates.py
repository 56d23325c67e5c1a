"""Templates of workers that go: deleted when nobody uses them any more, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.crds import crds
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_set import MachineSet
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.external import External
from kapy.core.topology.templates import Dependencies, add_to, delete_unused_templates
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, Resource
from tests.core.environment import (
    CONFIG_TEMPLATES,
    INFRA_TEMPLATES,
    cluster,
    crd_of,
    default_namespace,
    deployment,
    templates,
)

OWNED = {"topology.cluster.x-k8s.io/owned": ""}
MD, MS = "machinedeployment.topology.cluster.x-k8s.io", "machineset.topology.cluster.x-k8s.io"
DEPLOYMENTS, SETS = MachineDeployment.RESOURCE, MachineSet.RESOURCE


@dataclass
class TemplateEnvironment:
    """A server with the controllers of templates, and nobody else."""

    client: Client
    dependencies: Dependencies

    async def group(self, name: str, template: str, *, finalizers: tuple[str, ...] = ()) -> None:
        """A MachineDeployment that a topology made."""
        document = deployment(1, template, selector={"matchLabels": {"a": "b"}})
        document["metadata"] |= {"name": name, "labels": OWNED, "finalizers": list(finalizers)}
        await self.client.create(DEPLOYMENTS, document)

    async def set(self, name: str, group: str, template: str) -> None:
        """A MachineSet of a MachineDeployment."""
        of = await self.get(DEPLOYMENTS, group)
        assert of is not None
        document = deployment(1, template, selector={"matchLabels": {"a": "b"}})
        owner = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "name": group,
            "uid": of["metadata"]["uid"],
            "controller": True,
        }
        document["kind"] = "MachineSet"
        document["metadata"] |= {
            "name": name,
            "labels": {**OWNED, "cluster.x-k8s.io/deployment-name": group},
            "ownerReferences": [owner],
        }
        await self.client.create(SETS, document)

    async def templates(self, *names: str) -> None:
        for name in names:
            for template, resource in zip(
                templates(name), (INFRA_TEMPLATES, CONFIG_TEMPLATES), strict=True
            ):
                await self.client.create(resource, template)

    async def left(self) -> list[str]:
        """The templates that are there, each of which is two objects."""
        names_of_kinds = [
            [
                document["metadata"]["name"]
                for document in (await self.client.list(kind, "default")).items
            ]
            for kind in (INFRA_TEMPLATES, CONFIG_TEMPLATES)
        ]
        assert names_of_kinds[0] == names_of_kinds[1]
        return names_of_kinds[0]

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(resource, Key("default", name))
        await asyncio.sleep(1)

    async def get(self, resource: Resource, name: str) -> Document | None:
        try:
            return await self.client.get(resource, Key("default", name))
        except NotFound:
            return None


@asynccontextmanager
async def template_environment() -> AsyncIterator[TemplateEnvironment]:
    server = Server.open(None, clock=loop_clock())
    client = Client(server.transport(ADMIN), field_manager="person")
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(server.run())]
        await default_namespace(client)
        for crd in (*crds(), *map(crd_of, (INFRA_TEMPLATES, CONFIG_TEMPLATES))):
            await client.create(CRDS, crd)
        await client.create(Cluster.RESOURCE, cluster())
        runtime = Runtime.on(server.transport(ADMIN), clock=loop_clock(), random=Random(0))
        objects, external = ClusterObjects(runtime.cache), External(runtime.client, runtime.cache)
        add_to(runtime, objects, external)
        running.append(group.create_task(runtime.run()))
        yield TemplateEnvironment(
            client, Dependencies(runtime.client, external, objects, runtime.clock)
        )
        for task in running:
            task.cancel()
    server.close()


async def test_templates_are_deleted_with_their_last_user() -> None:
    """The MachineDeployment goes first, its sets one after the other."""
    async with template_environment() as at:
        await at.templates("old", "new")
        await at.group("md", "new")
        await at.set("md-old", "md", "old")
        await at.set("md-new", "md", "new")
        await asyncio.sleep(1)
        for resource, name, finalizer in ((DEPLOYMENTS, "md", MD), (SETS, "md-old", MS)):
            document = await at.get(resource, name)
            assert document is not None
            assert document["metadata"]["finalizers"] == [finalizer]
        check = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineHealthCheck",
            "metadata": {"name": "md", "namespace": "default"},
            "spec": {"clusterName": "c", "selector": {"matchLabels": {"a": "b"}}},
        }
        await at.client.create(MachineHealthCheck.RESOURCE, check)
        await at.delete(SETS, "md-old")  # after a rollout
        assert await at.left() == ["new"]
        await at.delete(DEPLOYMENTS, "md")
        assert await at.get(DEPLOYMENTS, "md") is None
        assert await at.get(MachineHealthCheck.RESOURCE, "md") is None
        assert await at.get(SETS, "md-new") is None  # the garbage collector asked it to go
        assert await at.left() == []


async def test_a_deleted_deployment_leaves_a_template_that_a_set_uses() -> None:
    async with template_environment() as at:
        await at.templates("new")
        await at.group("md", "new")
        await at.set("md-1", "md", "new")
        group, user = await at.get(DEPLOYMENTS, "md"), await at.get(SETS, "md-1")
        assert group is not None
        assert user is not None
        await delete_unused_templates(at.dependencies, group, [user])
        assert await at.left() == ["new"]
        going = {**user["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        user = {**user, "metadata": going}
        await delete_unused_templates(at.dependencies, group, [user])
        assert await at.left() == []
        await delete_unused_templates(at.dependencies, group, [user])  # again, after a lost answer


async def test_a_deleted_set_leaves_a_template_that_its_deployment_uses() -> None:
    async with template_environment() as at:
        await at.templates("new")
        await at.group("md", "new")
        await at.set("md-1", "md", "new")
        await asyncio.sleep(1)
        await at.delete(SETS, "md-1")
        assert await at.get(SETS, "md-1") is None
        assert await at.left() == ["new"]


PAUSES: dict[str, tuple[Resource, Key, Document, Document]] = {
    "cluster": (
        Cluster.RESOURCE,
        Key("default", "c"),
        {"spec": {"paused": True}},
        {"spec": {"paused": False}},
    ),
    "annotation": (
        DEPLOYMENTS,
        Key("default", "md"),
        {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}},
        {"metadata": {"annotations": None}},
    ),
}


@pytest.mark.parametrize("by", PAUSES)
async def test_deletion_of_templates_waits_while_paused(by: str) -> None:
    async with template_environment() as at:
        await at.templates("new")
        await at.group("md", "new")
        await asyncio.sleep(1)
        resource, key, paused, unpaused = PAUSES[by]
        await at.client.patch(resource, key, paused)
        await at.delete(DEPLOYMENTS, "md")
        assert await at.left() == ["new"]
        await at.client.patch(resource, key, unpaused)
        await asyncio.sleep(1)
        assert await at.left() == []
        assert await at.get(DEPLOYMENTS, "md") is None


async def test_templates_of_deployments_without_a_topology_stay() -> None:
    async with template_environment() as at:
        await at.templates("mine")
        mine = deployment(1, "mine", selector={"matchLabels": {"a": "b"}})
        await at.client.create(DEPLOYMENTS, mine)
        await asyncio.sleep(1)
        await at.delete(DEPLOYMENTS, "mine")
        assert await at.get(DEPLOYMENTS, "mine") is None
        assert await at.left() == ["mine"]
