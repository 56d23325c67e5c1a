"""The requests of cluster-autoscaler's clusterapi provider, played against the API server.

Read from its source: groups and preferred versions from discovery, untyped lists and watches, the
scale subresource, whole Machines updated with the delete annotation, `status.capacity` and
`status.nodeInfo` of infrastructure templates (found by kind in lower case and an "s").
"""

from __future__ import annotations

from typing import Any

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.kube import Document, Key
from kapy.kube.http import Request
from kapy.kube.names import NODES
from tests.core.environment import (
    INFRA_TEMPLATES,
    Environment,
    deployment,
    reference,
    running_cluster,
    templates,
)

PREFIX = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
SIZES = {f"{PREFIX}min-size": "1", f"{PREFIX}max-size": "4"}
DELETE = "cluster.x-k8s.io/delete-machine"
MERGE = "application/merge-patch+json"


class Autoscaler:
    """Knows the group, the namespace and nothing else."""

    def __init__(self, plane: Environment, group: str = "cluster.x-k8s.io") -> None:
        self._transport = plane.client.transport
        self._group = group
        self._version = ""

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Document:
        reply = await self._transport(Request(method, path, headers=headers, body=body))
        assert reply.status < 300, reply.body
        assert isinstance(reply.body, dict)
        return reply.body

    async def discover(self) -> set[str]:
        """Take the preferred version; returns the resources that it serves."""
        group = await self.ask("GET", f"/apis/{self._group}")
        self._version = group["preferredVersion"]["version"]
        served = await self.ask("GET", f"/apis/{self._group}/{self._version}")
        return {resource["name"] for resource in served["resources"]}

    def path(self, resource: str, name: str = "", subresource: str = "") -> str:
        parts = [f"/apis/{self._group}/{self._version}/namespaces/default/{resource}"]
        return "/".join([*parts, *filter(None, (name, subresource))])

    async def listed(self, resource: str) -> list[Document]:
        items: list[Document] = (await self.ask("GET", self.path(resource)))["items"]
        return items

    async def size(self, name: str) -> int:
        scale = await self.ask("GET", self.path("machinedeployments", name, "scale"))
        assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
        replicas: int = scale["spec"]["replicas"]
        return replicas

    async def resize(self, name: str, replicas: int) -> None:
        path, patch = (
            self.path("machinedeployments", name, "scale"),
            {"spec": {"replicas": replicas}},
        )
        await self.ask("PATCH", path, patch, **{"content-type": MERGE})

    async def members(self, name: str) -> list[Document]:
        """Machines of the MachineDeployment, by way of the controllers in their owners."""
        sets = [
            document
            for document in await self.listed("machinesets")
            if controller(document) == name
        ]
        names = {machine_set["metadata"]["name"] for machine_set in sets}
        return [
            document for document in await self.listed("machines") if controller(document) in names
        ]

    async def remove(self, group: str, provider_id: str) -> None:
        """Delete the node with the provider ID: mark its Machine, then ask for one less."""
        (machine,) = [
            document
            for document in await self.listed("machines")
            if document["spec"].get("providerID") == provider_id
        ]
        path = self.path("machines", machine["metadata"]["name"])
        read = await self.ask("GET", path)
        metadata = {**read["metadata"]}
        metadata["annotations"] = {**metadata.get("annotations", {}), DELETE: "2026-01-01 00:00:00"}
        await self.ask("PUT", path, {**read, "metadata": metadata})
        await self.resize(group, await self.size(group) - 1)

    async def template(self, ref: Document) -> Document:
        """The infrastructure template that a reference without a version names."""
        group = await self.ask("GET", f"/apis/{ref['apiGroup']}")
        other = Autoscaler.__new__(Autoscaler)
        other._transport, other._group = self._transport, ref["apiGroup"]
        other._version = group["preferredVersion"]["version"]
        return await other.ask("GET", other.path(f"{ref['kind'].lower()}s", ref["name"]))


def controller(document: Document) -> str | None:
    owners = document["metadata"].get("ownerReferences", ())
    names = [str(owner["name"]) for owner in owners if owner.get("controller")]
    return names[0] if names else None


def scaled_by_autoscaler() -> Document:
    """A MachineDeployment that leaves its size to the autoscaler."""
    document = deployment(0)
    del document["spec"]["replicas"]
    document["metadata"]["annotations"] = dict(SIZES)
    return document


async def started(plane: Environment) -> Autoscaler:
    await running_cluster(plane)
    await plane.create(*templates(), scaled_by_autoscaler())
    await grown(plane)
    autoscaler = Autoscaler(plane)
    await autoscaler.discover()
    return autoscaler


async def grown(plane: Environment) -> None:
    await plane.settle()
    await plane.boot_all()
    await plane.settle()


async def test_the_autoscaler_finds_its_node_groups(plane: Environment) -> None:
    autoscaler = await started(plane)
    resources = await autoscaler.discover()
    kinds = {"machines", "machinesets", "machinedeployments"}
    assert kinds | {"machinedeployments/scale", "machinesets/scale"} <= resources
    (group,) = await autoscaler.listed("machinedeployments")
    assert SIZES.items() <= group["metadata"]["annotations"].items()
    assert group["spec"]["replicas"] == 1  # the smallest size, when nobody said one
    assert await autoscaler.size("md") == 1
    (member,) = await autoscaler.members("md")
    assert member["spec"]["providerID"] == f"fake://{member['metadata']['name']}"
    node = await plane.workload.get(NODES, Key("", member["metadata"]["name"]))
    annotations = node["metadata"]["annotations"]
    assert annotations["cluster.x-k8s.io/machine"] == member["metadata"]["name"]
    assert annotations["cluster.x-k8s.io/cluster-namespace"] == "default"


async def test_the_autoscaler_adds_nodes_and_removes_the_chosen_one(plane: Environment) -> None:
    autoscaler = await started(plane)
    await autoscaler.resize("md", await autoscaler.size("md") + 2)
    await grown(plane)
    members = [member["metadata"]["name"] for member in await autoscaler.members("md")]
    assert len(members) == 3

    chosen = members[1]
    await autoscaler.remove("md", f"fake://{chosen}")
    await plane.settle(20)
    names = {member["metadata"]["name"] for member in await autoscaler.members("md")}
    assert names == set(members) - {chosen}
    assert await autoscaler.size("md") == 2


async def test_applying_without_replicas_keeps_the_current_size(plane: Environment) -> None:
    autoscaler = await started(plane)
    await autoscaler.resize("md", 3)
    await grown(plane)
    current = await plane.client.get(MachineDeployment.RESOURCE, Key("default", "md"))
    wanted = scaled_by_autoscaler()
    wanted["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
    await plane.client.update(MachineDeployment.RESOURCE, wanted)
    assert await autoscaler.size("md") == 3
    await plane.settle()
    assert len(await plane.story.all(Machine)) == 3


async def test_scaling_from_zero_uses_the_capacity_of_the_template(plane: Environment) -> None:
    autoscaler = await started(plane)
    capacity, info = {"cpu": "4", "memory": "16Gi"}, {"architecture": "arm64"}
    await plane.report(INFRA_TEMPLATES, "md", capacity=capacity, nodeInfo=info)
    zero = {"metadata": {"annotations": {f"{PREFIX}min-size": "0"}}}
    await plane.story.merge(MachineDeployment, "md", zero)
    await autoscaler.resize("md", 0)
    await plane.settle(20)
    assert not await autoscaler.members("md")

    (group,) = await autoscaler.listed("machinedeployments")
    ref = group["spec"]["template"]["spec"]["infrastructureRef"]
    assert ref == reference(INFRA_TEMPLATES, "md")
    template = await autoscaler.template(ref)
    assert (template["status"]["capacity"], template["status"]["nodeInfo"]) == (capacity, info)
    await autoscaler.resize("md", 1)
    await grown(plane)
    assert len(await autoscaler.members("md")) == 1
