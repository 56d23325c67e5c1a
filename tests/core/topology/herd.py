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
    found = deepcopy(class_sample())
    for one in found:
        if one["kind"] == "KubeadmControlPlaneTemplate":
            config = one["spec"]["template"]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]
            config["encryptionAlgorithm"] = "ECDSA-P256"
    return found


def part(kind: str, name: str = "") -> Document:
    """One of these objects."""
    return next(
        one for one in objects() if one["kind"] == kind and one["metadata"]["name"].endswith(name)
    )


def class_objects() -> list[Document]:
    return [one for one in objects() if one["kind"] != "Cluster"]


def cluster(name: str = CLUSTER, **topology: Any) -> Document:
    """A Cluster of the class."""
    found = part("Cluster")
    found["metadata"]["name"] = name
    found["spec"]["topology"] |= topology
    return found


def workers(*groups: tuple[str, int]) -> Document:
    """The MachineDeployments of a topology, by name and size."""
    listed = [{"class": "grazer", "name": name, "replicas": size} for name, size in groups]
    return {"machineDeployments": listed}


class Herd(Story):
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
        found = await self.until(Cluster, name, lambda one: reconciled(one) is not None)
        said = reconciled(found)
        assert said is not None
        return said

    async def told(self, reason: str, name: str = CLUSTER) -> str:
        """Wait until TopologyReconciled is False for a reason; its message."""

        def holds(one: Cluster) -> bool:
            said = reconciled(one)
            return said is not None and (said.status, said.reason) == ("False", reason)

        said = reconciled(await self.until(Cluster, name, holds))
        assert said is not None
        return said.message

    async def versions(self) -> dict[str, str]:
        """The state of every object, by kind and name: Events, and what says when it was last
        seen, left out."""
        return {
            f"{kind.kind}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
            for kind in own_kinds()
            for one in (await self.client.list(kind, "default")).items
        }


def reconciled(one: Cluster) -> Condition | None:
    found = [each for each in one.status.conditions if each.type == "TopologyReconciled"]
    return found[0] if found else None


def is_settled(one: Cluster) -> bool:
    said = {each.type: each.status for each in one.status.conditions}
    wanted = {"Available": "True", "TopologyReconciled": "True", "RollingOut": "False"}
    return wanted.items() <= said.items() and said.get("ScalingUp") == "False"


@asynccontextmanager
async def herd() -> AsyncIterator[Herd]:
    """A plane on which nothing is yet."""
    async with running() as plane:
        yield Herd(plane)


@asynccontextmanager
async def grazing() -> AsyncIterator[Herd]:
    """A plane with the class and one Cluster that is available."""
    async with herd() as story:
        await story.create(objects())
        await story.until_settled()
        yield story


def names(items: Iterable[Object]) -> set[str]:
    return {one.metadata.name for one in items}
