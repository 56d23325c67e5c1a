"""The life of a Cluster that is made of a ClusterClass, as stories on virtual time."""

from __future__ import annotations

from typing import TypeVar

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.kubeadm_config import KubeadmConfigTemplate
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_set import MachineSet
from kapy.client.intercept import RequestCounter
from kapy.kube import Document, Key
from kapy.kube.meta import Object
from kapy.kube.names import EVENTS, NAMESPACES, SECRETS
from tests.core.topology.topology_story import (
    CLUSTER,
    PLANE,
    WORKERS,
    TopologyStory,
    class_objects,
    cluster,
    empty_plane,
    names,
    objects,
    part,
    plane_with_cluster,
    reconciled,
    workers,
)

T = TypeVar("T", bound=Object)


def owners(value: Object) -> list[str]:
    return [f"{ref.kind}/{ref.name}" for ref in value.metadata.owner_references]


def label_of(config: KubeadmConfigTemplate) -> list[str | None]:
    """The arguments of the kubelets that a template makes."""
    registration = config.spec.template.spec.join_configuration.node_registration
    return [arg.value for arg in registration.kubelet_extra_args]


async def test_everything_of_a_cluster_is_made_of_its_class() -> None:
    async with plane_with_cluster() as story:
        result = await story.get(Cluster, CLUSTER)
        assert result is not None
        assert result.spec.infrastructure_ref is not None
        assert result.spec.control_plane_ref is not None
        assert result.spec.control_plane_ref.name == PLANE
        for kind in (DevCluster, KubeadmControlPlane, MachineDeployment, MachineHealthCheck):
            (value,) = await story.all(kind)
            assert owners(value) == [f"Cluster/{CLUSTER}"], kind
            assert value.metadata.labels["topology.cluster.x-k8s.io/owned"] == ""
        (deployment,) = await story.all(MachineDeployment)
        assert deployment.metadata.name == WORKERS
        assert len(await story.all(Machine)) == 3
        assert "topology.cluster.x-k8s.io" in str(deployment.metadata.finalizers)
        (config,) = await made_templates(story, KubeadmConfigTemplate)
        assert label_of(config) == ["nodefs.available<0%", "pasture=south,pool=md-0"]
        secrets = (await story.client.list(SECRETS, "default")).items
        assert not [secret for secret in secrets if secret["metadata"]["name"].endswith("-shim")]
        events = (await story.client.list(EVENTS, "default")).items
        messages = {event["message"] for event in events if event["reason"].startswith("Topology")}
        assert f'Created KubeadmControlPlane "default/{PLANE}"' in messages
        assert f'Updated Cluster "default/{CLUSTER}"' in messages
        await is_left_alone(story)


async def is_left_alone(story: TopologyStory) -> None:
    """Nothing is asked of the server about a cluster that is settled."""
    before = await story.versions()
    (controller,) = [
        item for item in story.plane.runtime.controllers if item.name == "topology/cluster"
    ]
    client = story.plane.runtime.client
    client.transport = counted = RequestCounter(client.transport)
    for _ in range(3):
        await controller.reconcile_once(Key("default", CLUSTER))
    client.transport = counted.transport
    assert counted.counts.total() == 0
    assert await story.versions() == before


async def made_templates(story: TopologyStory, kind: type[T]) -> list[T]:
    """The templates of clusters, without those of the class."""
    return [item for item in await story.all(kind) if owners(item) == [f"Cluster/{CLUSTER}"]]


async def test_foreign_changes_of_managed_fields_are_reverted_and_others_kept() -> None:
    async with plane_with_cluster() as story:
        mine = {"metadata": {"labels": {"mine": "yes"}}, "spec": {"replicas": 5}}
        await story.merge(MachineDeployment, WORKERS, mine)
        await story.merge(
            MachineHealthCheck, WORKERS, {"spec": {"checks": {"nodeStartupTimeoutSeconds": 60}}}
        )
        owned = {"metadata": {"labels": {"topology.cluster.x-k8s.io/owned": "stolen"}}}
        await story.merge(KubeadmControlPlane, PLANE, owned)
        await story.until_settled()
        deployment = await story.get(MachineDeployment, WORKERS)
        assert deployment is not None
        assert deployment.spec.replicas == 2
        assert deployment.metadata.labels["mine"] == "yes"
        check = await story.get(MachineHealthCheck, WORKERS)
        assert check is not None
        assert check.spec.checks.node_startup_timeout_seconds == 600
        plane = await story.get(KubeadmControlPlane, PLANE)
        assert plane is not None
        assert plane.metadata.labels["topology.cluster.x-k8s.io/owned"] == ""
        await a_pause_is_told_and_kept(story)


async def a_pause_is_told_and_kept(story: TopologyStory) -> None:
    await story.merge(Cluster, CLUSTER, {"spec": {"paused": True}})
    assert await story.told("Paused") == "Cluster spec.paused is set to true"
    await story.topology(workers=workers(("md-0", 3)))
    await story.settle()
    deployment = await story.get(MachineDeployment, WORKERS)
    assert deployment is not None
    assert deployment.spec.replicas == 2
    await story.merge(Cluster, CLUSTER, {"spec": {"paused": False}})
    await story.until_settled()
    assert len(await story.all(Machine)) == 4
    annotation = "cluster.x-k8s.io/paused"
    await story.merge(Cluster, CLUSTER, {"metadata": {"annotations": {annotation: ""}}})
    assert await story.told("Paused") == f"Cluster has the {annotation} annotation"
    await story.merge(Cluster, CLUSTER, {"metadata": {"annotations": {annotation: None}}})
    await story.until_settled()
    lost: Document = {"status": {"conditions": []}}
    await story.client.patch(Cluster, Key("default", CLUSTER), lost, subresource="status")
    await story.until_settled()


async def test_groups_of_workers_and_clusters_are_created_and_deleted_with_their_objects() -> None:
    async with plane_with_cluster() as story:
        before = set(await story.versions())
        await story.topology(workers=workers(("md-0", 2), ("md-1", 1)))
        await story.until_settled()
        assert names(await story.all(MachineDeployment)) == {WORKERS, "capybara-md-1"}
        assert names(await story.all(MachineHealthCheck)) == {WORKERS, "capybara-md-1"}
        await story.topology(workers=workers(("md-0", 2)))
        await story.until_settled()
        assert set(await story.versions()) == before
        await story.client.delete(Cluster, Key("default", CLUSTER))
        assert await story.told("Deleting") == "Cluster is deleting"
        await story.until_gone(Cluster, CLUSTER)
        await story.settle()
        kinds = {name.partition("/")[0] for name in await story.versions()}
        assert kinds == {obj["kind"] for obj in objects()} - {"Cluster"}


async def test_a_new_value_rotates_only_the_template_that_uses_it() -> None:
    async with plane_with_cluster() as story:
        machines = names(await story.all(Machine))
        (config,) = await made_templates(story, KubeadmConfigTemplate)
        infrastructure = names(await made_templates(story, DevMachineTemplate))
        await story.topology(variables=[{"name": "nodeLabels", "value": {"pasture": "west"}}])
        await story.until_settled()
        (after,) = await made_templates(story, KubeadmConfigTemplate)
        assert after.metadata.name != config.metadata.name
        assert names(await made_templates(story, DevMachineTemplate)) == infrastructure
        assert len(names(await story.all(Machine)) & machines) == 1  # the control plane's
        assert len(await story.all(MachineSet)) == 1
        await a_new_label_replaces_nothing(story, after)


async def a_new_label_replaces_nothing(story: TopologyStory, before: KubeadmConfigTemplate) -> None:
    machines = names(await story.all(Machine))
    label = {"metadata": {"labels": {"season": "spring"}}}
    await story.merge(KubeadmConfigTemplate, "meadow-grazer", label)
    await story.until_settled()
    (config,) = await made_templates(story, KubeadmConfigTemplate)
    assert config.metadata.name == before.metadata.name
    assert config.metadata.labels["season"] == "spring"
    assert names(await story.all(Machine)) == machines


async def test_another_machine_template_of_the_class_replaces_the_control_plane() -> None:
    async with plane_with_cluster() as story:
        machines = names(await story.all(DevMachine))
        templates = names(await made_templates(story, DevMachineTemplate))
        other = part("DevMachineTemplate", "control-plane")
        other["metadata"]["name"] = "meadow-control-plane-b"
        backend = other["spec"]["template"]["spec"]["backend"]["inMemory"]
        backend["node"]["provisioning"]["startupDuration"] = "1s"
        await story.create([other])
        reference = {"templateRef": {"name": "meadow-control-plane-b"}}
        patch = {"spec": {"controlPlane": {"machineInfrastructure": reference}}}
        await story.merge(ClusterClass, "meadow", patch)
        await story.until_settled()
        assert len(names(await story.all(DevMachine)) & machines) == 2  # the workers'
        assert len(names(await made_templates(story, DevMachineTemplate)) & templates) == 1
        assert len(await made_templates(story, DevMachineTemplate)) == 2


async def test_a_class_change_rolls_all_of_its_clusters_and_no_others() -> None:
    async with empty_plane() as story:
        await story.create(class_objects())
        other = part("ClusterClass")
        other["metadata"]["name"] = "hillside"
        await story.create([other])
        herds = ["herd-1", "herd-2"]
        await story.create([cluster(name, workers=workers(("md-0", 1))) for name in herds])
        lonely = cluster("lonely", classRef={"name": "hillside"}, workers=workers(("md-0", 1)))
        await story.create([lonely])
        for name in (*herds, "lonely"):
            await story.until_settled(name)
        before = names(await story.all(DevMachine))
        template = part("DevMachineTemplate", "grazer")
        template["metadata"]["name"] = "meadow-grazer-b"
        backend = template["spec"]["template"]["spec"]["backend"]["inMemory"]
        backend["vm"]["provisioning"]["startupDuration"] = "1s"
        await story.create([template])
        path = "/spec/workers/machineDeployments/0/infrastructure/templateRef/name"
        await story.client.patch(
            ClusterClass.RESOURCE,
            Key("default", "meadow"),
            [{"op": "replace", "path": path, "value": "meadow-grazer-b"}],
        )
        for name in (*herds, "lonely"):
            await story.until_settled(name)
        names_kept = names(await story.all(DevMachine)) & before
        assert {name for name in names_kept if "-md-0-" in name} == {
            name for name in before if name.startswith("lonely-md-0-")
        }


async def test_a_cluster_is_rebased_to_a_class_in_another_namespace() -> None:
    async with plane_with_cluster() as story:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "classes"}}
        await story.client.create(NAMESPACES, namespace)
        for obj in class_objects():
            obj["metadata"]["namespace"] = "classes"
            obj["spec"].pop("patches", None)
            await story.create([obj])
        machines = names(await story.all(Machine))
        await story.topology(classRef={"name": "meadow", "namespace": "classes"})
        await story.until_settled()
        (config,) = await made_templates(story, KubeadmConfigTemplate)
        assert label_of(config) == ["nodefs.available<0%"]
        assert len(names(await story.all(Machine)) & machines) == 1  # the control plane's


async def test_an_upgrade_reports_its_steps_and_waits_for_deferred_workers() -> None:
    async with plane_with_cluster() as story:
        defer = {"annotations": {"topology.cluster.x-k8s.io/defer-upgrade": ""}}
        groups = workers(("md-0", 1))
        groups["machineDeployments"][0]["metadata"] = defer
        await story.topology(workers=groups)
        await story.until_settled()
        await story.topology(version="v1.35.0")
        message = await story.told("ClusterUpgrading")
        assert message.startswith("Cluster is upgrading to v1.35.0\n  * KubeadmControlPlane ")
        message = await story.told("MachineDeploymentsUpgradeDeferred")
        assert f"MachineDeployment {WORKERS} upgrade to version v1.35.0 deferred" in message
        plane = await story.get(KubeadmControlPlane, PLANE)
        assert plane is not None
        assert plane.status.version == "v1.35.0"
        groups["machineDeployments"][0]["metadata"]["annotations"] = {}
        await story.topology(workers=groups)
        result = await story.until_settled()
        assert {machine.spec.version for machine in await story.all(Machine)} == {"v1.35.0"}
        assert result.status.control_plane is not None
        assert not result.status.control_plane.upgrade_plan


async def test_a_class_that_comes_after_its_cluster_is_waited_for() -> None:
    async with empty_plane() as story:
        late = cluster()
        del late["spec"]["topology"]["variables"]
        await story.create([late])
        assert "ClusterClass default/meadow" in await story.told("ReconcileFailed")
        result = await story.get(Cluster, CLUSTER)
        assert result is not None
        assert reconciled(result) is not None
        await story.create(class_objects())
        result = await story.until_settled()
        assert result.spec.topology is not None
        (value,) = result.spec.topology.variables
        assert value.value == {"pasture": "north"}
