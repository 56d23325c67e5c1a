"""Clusters of a ClusterClass go to another version."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation, ConditionType, Label
from kapy.conditions import is_true, message_of, reason_of
from kapy.testing.story import Story
from tests.stories.plane import running_plane

OLD, MIDDLE, NEW = "v1.33.4", "v1.34.2", "v1.35.0"
RECONCILED = ConditionType.TOPOLOGY_RECONCILED

CLASS = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: meadow, namespace: default}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 2s}}}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: meadow, namespace: default}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: meadow, namespace: default}
spec:
  kubernetesVersions: [v1.33.4, v1.34.1, v1.34.2, v1.35.0]
  infrastructure:
    templateRef:
      kind: DevClusterTemplate
      name: meadow
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
  controlPlane:
    templateRef:
      kind: KubeadmControlPlaneTemplate
      name: meadow
      apiVersion: controlplane.cluster.x-k8s.io/v1beta2
    machineInfrastructure: &machines
      templateRef:
        kind: DevMachineTemplate
        name: meadow
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
  workers:
    machineDeployments:
    - class: grass
      bootstrap:
        templateRef:
          kind: KubeadmConfigTemplate
          name: meadow
          apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
      infrastructure: *machines
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: herd, namespace: default}
spec:
  topology:
    classRef: {name: meadow}
    version: v1.33.4
    controlPlane: {replicas: 1}
    workers:
      machineDeployments:
      - {class: grass, name: east, replicas: 1}
      - {class: grass, name: west, replicas: 1}
"""


@asynccontextmanager
async def herd() -> AsyncIterator[Story]:
    """A story in which the cluster is Available, at its first version."""
    async with running_plane() as story:
        await story.create(CLASS)
        await story.until(
            Cluster, "herd", lambda cluster: is_true(cluster.status.conditions, "Available")
        )
        yield story


async def upgrade(story: Story, version: str) -> None:
    await story.merge(Cluster, "herd", {"spec": {"topology": {"version": version}}})


async def machines(story: Story) -> list[tuple[str, str]]:
    """Group and version of every Machine; the control plane's have no group."""
    return sorted(
        (machine.metadata.labels.get(Label.TOPOLOGY_DEPLOYMENT_NAME, ""), machine.spec.version)
        for machine in await story.all(Machine)
    )


async def is_reconciled(story: Story) -> Cluster:
    return await story.until(
        Cluster,
        "herd",
        lambda cluster: (
            is_true(cluster.status.conditions, RECONCILED)
            and cluster.status.observed_generation == cluster.metadata.generation
        ),
    )


async def test_a_cluster_is_upgraded_over_several_minors_with_one_step_of_its_workers() -> None:
    async with herd() as story:
        before = {machine.metadata.uid for machine in await story.all(Machine)}
        await upgrade(story, NEW)
        middle = await story.until(
            Cluster,
            "herd",
            lambda cluster: (
                cluster.metadata.annotations.get(Annotation.TOPOLOGY_UPGRADE_STEP) == MIDDLE
            ),
        )
        parts = message_of(middle.status.conditions, RECONCILED).split("\n  * ")
        assert parts[:2] == [
            f"Cluster is upgrading to {NEW}",
            f"KubeadmControlPlane upgrading to version {MIDDLE} ({NEW} pending)",
        ]
        assert middle.status.workers is not None
        assert [plan_version.version for plan_version in middle.status.workers.upgrade_plan] == [
            NEW
        ]
        await story.until(
            Cluster,
            "herd",
            lambda cluster: (
                cluster.metadata.annotations.get(Annotation.TOPOLOGY_UPGRADE_STEP) == NEW
            ),
        )
        assert {version for group, version in await machines(story) if group} == {OLD}
        done = await is_reconciled(story)
        assert await machines(story) == [("", NEW), ("east", NEW), ("west", NEW)]
        assert not before & {machine.metadata.uid for machine in await story.all(Machine)}
        assert Annotation.TOPOLOGY_UPGRADE_STEP not in done.metadata.annotations


async def test_workers_that_the_user_holds_back_wait_for_the_user() -> None:
    async with herd() as story:
        await hold(story, "west", held=True)
        await upgrade(story, MIDDLE)
        held = await story.until(
            Cluster,
            "herd",
            lambda cluster: (
                reason_of(cluster.status.conditions, RECONCILED)
                == "MachineDeploymentsUpgradeDeferred"
            ),
        )
        [west] = [
            machine_deployment.metadata.name
            for machine_deployment in await story.all(MachineDeployment)
            if machine_deployment.metadata.labels[Label.TOPOLOGY_DEPLOYMENT_NAME] == "west"
        ]
        assert message_of(held.status.conditions, RECONCILED) == (
            f"Cluster is upgrading to {MIDDLE}\n  * MachineDeployment {west} upgrade to version "
            f"{MIDDLE} deferred using defer-upgrade or hold-upgrade-sequence annotations"
        )
        assert await machines(story) == [("", MIDDLE), ("east", MIDDLE), ("west", OLD)]
        await hold(story, "west", held=False)
        await is_reconciled(story)
        assert await machines(story) == [("", MIDDLE), ("east", MIDDLE), ("west", MIDDLE)]


async def hold(story: Story, group: str, *, held: bool) -> None:
    cluster = await story.get(Cluster, "herd")
    assert cluster is not None
    assert cluster.spec.topology is not None
    workers = cluster.spec.topology.workers.machine_deployments
    messages = {Annotation.TOPOLOGY_DEFER_UPGRADE: ""} if held else None
    changed = [
        {
            "class": "grass",
            "name": worker.name,
            "replicas": worker.replicas,
            "metadata": {"annotations": messages} if worker.name == group and messages else None,
        }
        for worker in workers
    ]
    patch = {"spec": {"topology": {"workers": {"machineDeployments": changed}}}}
    await story.merge(Cluster, "herd", patch)
