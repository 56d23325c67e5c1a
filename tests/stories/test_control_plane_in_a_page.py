"""A control plane provider in a page, among all of kapy's controllers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest_asyncio

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.kube import Document, Key
from kapy.testing.story import Story
from tests.sdk.page_of_kubeadm import PROVIDER, PageControlPlane
from tests.stories.plane import own_kinds, sample
from tests.stories.test_fleet import CLUSTER, CONTROL_PLANE, WORKERS, available, control_planes


@pytest_asyncio.fixture
async def story() -> AsyncIterator[Story]:
    settings = Settings(providers=(PROVIDER,))
    async with management_plane(settings, clock=loop_clock(), random=Random(1)) as plane:
        yield Story(plane.client, [*own_kinds(), PageControlPlane.RESOURCE])


def in_a_page() -> list[Document]:
    """The sample cluster with another control plane provider."""
    result = []
    for document in sample():
        if document["kind"] == "KubeadmControlPlane":
            spec = {
                name: document["spec"][name] for name in ("replicas", "version", "machineTemplate")
            }
            resource = PageControlPlane.RESOURCE
            document = {
                **document,
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "spec": spec,
            }
        elif document["kind"] == "Cluster":
            spec = {**document["spec"]}
            spec["controlPlaneRef"] = {**spec["controlPlaneRef"], "kind": "PageControlPlane"}
            document = {**document, "spec": spec}
        result.append(document)
    return result


async def versions(story: Story) -> list[str]:
    """The resourceVersions of the control plane and its Machines."""
    page_control_planes = [*await story.all(PageControlPlane), *await control_planes(story)]
    return [item.metadata.resource_version for item in page_control_planes]


def is_settled(replicas: int, version: str) -> Any:
    def holds(plane: PageControlPlane) -> bool:
        status = plane.status
        counted = [
            (status_version.version, status_version.replicas) for status_version in status.versions
        ]
        wanted = [(version, replicas)]
        return counted == wanted and status.ready_replicas == status.up_to_date_replicas == replicas

    return holds


async def test_a_cluster_is_created_scaled_upgraded_and_deleted(story: Story) -> None:
    await story.create(in_a_page())
    await story.until(Cluster, CLUSTER, available)
    await story.until(MachineDeployment, WORKERS, lambda md: md.status.available_replicas == 2)
    (first,) = await control_planes(story)
    version = first.spec.version
    await story.merge(PageControlPlane, CONTROL_PLANE, {"spec": {"replicas": 3}})
    await story.until(PageControlPlane, CONTROL_PLANE, is_settled(3, version))
    newer = "v1.35.0" if version != "v1.35.0" else "v1.36.0"
    await story.merge(PageControlPlane, CONTROL_PLANE, {"spec": {"version": newer}})
    await story.until(PageControlPlane, CONTROL_PLANE, is_settled(3, newer))
    after = {plane.metadata.name for plane in await control_planes(story)}
    assert first.metadata.name not in after
    await story.until(Cluster, CLUSTER, available)
    await story.settle()
    rests = await versions(story)
    await story.settle(600)
    assert await versions(story) == rests
    await story.client.delete(Cluster, Key("default", CLUSTER))
    await story.until_gone(Cluster, CLUSTER)
    for kind in (PageControlPlane, Machine, KubeadmConfig, DevMachine):
        assert not await story.all(kind)
