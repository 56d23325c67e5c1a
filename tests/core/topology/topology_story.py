"""A plane with the sample's ClusterClass, and Clusters that are made of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.apps.all_in_one import ManagementPlane
from kapy.apps.manifests import class_sample
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.names import EVENTS, SECRETS
from kapy.testing.story import Story
from tests.stories.plane import own_kinds, running

CLUSTER, WORKERS, PLANE = "capybara", "capybara-md-0", "capybara-control-plane"


def objects() -> list[Document]:
    """The class, its templates and the Cluster, with keys that are quick to make."""
    sample = deepcopy(class_sample())
    for document in sample:
        if document["kind"] == "KubeadmControlPlaneTemplate":
            config = document["spec"]["template"]["spec"]["kubeadmConfigSpec"][
                "clusterConfiguration"
            ]
            config["encryptionAlgorithm"] = "ECDSA-P256"
    return sample


def part(kind: str, name: str = "") -> Document:
    """One of these objects."""
    return next(
        obj for obj in objects() if obj["kind"] == kind and obj["metadata"]["name"].endswith(name)
    )


def class_objects() -> list[Document]:
    return [obj for obj in objects() if obj["kind"] != "Cluster"]


def cluster(name: str = CLUSTER, **topology: Any) -> Document:
    """A Cluster of the class."""
    document = part("Cluster")
    document["metadata"]["name"] = name
    document["spec"]["topology"] |= topology
    return document


def workers(*groups: tuple[str, int]) -> Document:
    """The MachineDeployments of a topology, by name and size."""
    listed = [{"class": "grazer", "name": name, "replicas": size} for name, size in groups]
    return {"machineDeployments": listed}


class TopologyStory(Story):
    """A story on a plane, with words for topologies."""

    def __init__(self, plane: ManagementPlane) -> None:
        super().__init__(plane.client, [*own_kinds(), SECRETS, EVENTS])
        self.plane = plane

    async def topology(self, name: str = CLUSTER, **change: Any) -> None:
        """Change a Cluster's topology."""
        await self.merge(Cluster, name, {"spec": {"topology": change}})

    async def until_settled(self, name: str = CLUSTER) -> Cluster:
        """Wait until a Cluster is as its topology says, and nothing goes on."""
        await self.settle()
        return await self.until(Cluster, name, is_settled)

    async def condition(self, name: str = CLUSTER) -> Condition:
        """TopologyReconciled of a Cluster."""
        result = await self.until(Cluster, name, lambda item: reconciled(item) is not None)
        value = reconciled(result)
        assert value is not None
        return value

    async def told(self, reason: str, name: str = CLUSTER) -> str:
        """Wait until TopologyReconciled is False for a reason; its message."""

        def holds(value: Cluster) -> bool:
            said = reconciled(value)
            return said is not None and (said.status, said.reason) == ("False", reason)

        result = reconciled(await self.until(Cluster, name, holds))
        assert result is not None
        return result.message

    async def versions(self) -> dict[str, str]:
        """The state of every object, by kind and name: Events, and what says when it was last
        seen, left out."""
        return {
            f"{kind.kind}/{document['metadata']['name']}": document["metadata"]["resourceVersion"]
            for kind in own_kinds()
            for document in (await self.client.list(kind, "default")).items
        }


def reconciled(value: Cluster) -> Condition | None:
    conditions = [
        condition for condition in value.status.conditions if condition.type == "TopologyReconciled"
    ]
    return conditions[0] if conditions else None


def is_settled(value: Cluster) -> bool:
    messages = {condition.type: condition.status for condition in value.status.conditions}
    wanted = {"Available": "True", "TopologyReconciled": "True", "RollingOut": "False"}
    return wanted.items() <= messages.items() and messages.get("ScalingUp") == "False"


@asynccontextmanager
async def empty_plane() -> AsyncIterator[TopologyStory]:
    """A plane on which nothing is yet."""
    async with running() as plane:
        yield TopologyStory(plane)


@asynccontextmanager
async def plane_with_cluster() -> AsyncIterator[TopologyStory]:
    """A plane with the class and one Cluster that is available."""
    async with empty_plane() as story:
        await story.create(objects())
        await story.until_settled()
        yield story


def names(items: Iterable[Object]) -> set[str]:
    return {item.metadata.name for item in items}
