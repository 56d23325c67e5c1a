"""Whole clusters of providers that share nothing but the contract, next to one in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS, Resource
from tests.providers.scripted.dialects import ADDRESS_TYPES, DIALECTS, DOMAINS, Dialect
from tests.providers.scripted.plane import Plane, plane
from tests.providers.scripted.provider import host_of
from tests.stories.plane import sample

OLD, NEW = "v1.34.0", "v1.35.0"
KUBEADM = "controlplane.cluster.x-k8s.io"


def objects(dialect: Dialect, name: str) -> list[Document]:
    """Return the objects that a user creates: a cluster with one worker."""
    plane_kind = dialect.control_planes.kind if dialect.own_plane else "KubeadmControlPlane"
    plane_group = dialect.control_planes.group if dialect.own_plane else KUBEADM
    config = dialect.config_templates
    boot: Document = {"words": "hello"}
    if not dialect.own_plane:
        group = "bootstrap.cluster.x-k8s.io"
        config = Resource(group, "v1beta2", "kubeadmconfigtemplates", "KubeadmConfigTemplate")
        boot = {"joinConfiguration": {"nodeRegistration": {"name": "it"}}}
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "infrastructureRef": reference(dialect.clusters, name),
                "controlPlaneRef": {"apiGroup": plane_group, "kind": plane_kind, "name": name},
            },
        },
        of(dialect.clusters, name, region="moon"),
        *control_plane(dialect, name),
        of(dialect.machine_templates, name, template={"spec": {"size": "small"}}),
        of(config, name, template={"spec": boot}),
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "clusterName": name,
                "replicas": 1,
                "template": {
                    "spec": {
                        "clusterName": name,
                        "version": OLD,
                        "failureDomain": "west",
                        "bootstrap": {"configRef": reference(config, name)},
                        "infrastructureRef": reference(dialect.machine_templates, name),
                    }
                },
            },
        },
    ]


def control_plane(dialect: Dialect, name: str) -> list[Document]:
    if dialect.own_plane:
        return [of(dialect.control_planes, name, version=OLD, replicas=1)]
    template = of(dialect.machine_templates, f"{name}-cp", template={"spec": {"size": "large"}})
    kubeadm = Resource(KUBEADM, "v1beta2", "kubeadmcontrolplanes", "KubeadmControlPlane")
    infrastructure = reference(dialect.machine_templates, f"{name}-cp")
    spec = {
        "replicas": 1,
        "version": OLD,
        "machineTemplate": {"spec": {"infrastructureRef": infrastructure}},
        "kubeadmConfigSpec": {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}},
    }
    return [template, of(kubeadm, name, **spec)]


def reference(resource: Resource, name: str) -> Document:
    return {"apiGroup": resource.group, "kind": resource.kind, "name": name}


def of(resource: Resource, name: str, **spec: Any) -> Document:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def condition(obj: Cluster | Machine, of_type: str) -> Condition:
    (value,) = [item for item in obj.status.conditions or () if item.type == of_type]
    return value


def available(replicas: int) -> Callable[[Cluster], bool]:
    def holds(cluster: Cluster) -> bool:
        workers = cluster.status.workers
        return (
            any(
                item.type == "Available" and item.status == "True"
                for item in cluster.status.conditions
            )
            and workers is not None
            and workers.available_replicas == workers.up_to_date_replicas == replicas
            and workers.replicas == replicas
        )

    return holds


async def workers(at: Plane, cluster: str) -> list[Machine]:
    machines = await at.story.all(Machine)
    return [
        machine
        for machine in machines
        if machine.spec.cluster_name == cluster
        and "cluster.x-k8s.io/control-plane" not in machine.metadata.labels
    ]


async def test_clusters_of_all_providers_live_and_die_side_by_side() -> None:
    async with plane(*DIALECTS) as at:
        await at.story.create(sample())
        async with asyncio.TaskGroup() as lives:
            for dialect in DIALECTS:
                lives.create_task(life(at, dialect))
        assert (
            await at.story.until(Cluster, "capybara", available(2))
        ).status.phase == "Provisioned"


async def life(at: Plane, dialect: Dialect) -> None:
    name = dialect.name.lower()
    await at.story.create(objects(dialect, name))
    cluster = await at.story.until(Cluster, name, available(1))
    await check_what_core_says(at, dialect, cluster)
    await check_what_core_wrote(at, dialect, name)
    await scale_and_replace(at, dialect, name)
    await upgrade(at, dialect, name)
    await at.story.client.delete(Cluster, Key("default", name))
    await at.story.until_gone(Cluster, name)
    await check_the_end(at, dialect, name)


async def scale_and_replace(at: Plane, dialect: Dialect, name: str) -> None:
    await at.story.merge(MachineDeployment, name, {"spec": {"replicas": 2}})
    await at.story.until(Cluster, name, available(2))
    before = {worker.metadata.name for worker in await workers(at, name)}
    bigger = of(dialect.machine_templates, f"{name}-2", template={"spec": {"size": "big"}})
    await at.story.create([bigger])
    template = {"spec": {"infrastructureRef": {"name": f"{name}-2"}}}
    await at.story.merge(MachineDeployment, name, {"spec": {"template": template}})
    await at.story.settle(5)
    await at.story.until(Cluster, name, available(2))
    assert before.isdisjoint(worker.metadata.name for worker in await workers(at, name))
    sizes = {
        document["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"]: document["spec"][
            "size"
        ]
        for document in await at.all(dialect.machines)
    }
    assert sizes[f"{name}-2"] == "big"


async def check_what_core_says(at: Plane, dialect: Dialect, cluster: Cluster) -> None:
    name = cluster.metadata.name
    endpoint = cluster.spec.control_plane_endpoint
    assert (endpoint.host, endpoint.port) == (host_of(name), 6443)
    domains = [(domain.name, domain.control_plane) for domain in cluster.status.failure_domains]
    assert domains == sorted(DOMAINS.items())
    ready = condition(cluster, "InfrastructureReady")
    message = {"legacy": "Ready", "metav1": "NetworkUp", "custom": "Ready"}[dialect.style]
    assert (ready.status, ready.reason) == ("True", message)
    assert condition(cluster, "ControlPlaneInitialized").status == "True"
    assert cluster.status.control_plane is not None
    assert cluster.status.control_plane.replicas == 1
    assert cluster.status.control_plane.up_to_date_replicas == 1
    assert cluster.status.control_plane.available_replicas == 1
    for machine in await workers(at, name):
        assert machine.status.phase == "Running"
        assert machine.spec.provider_id == f"{name}:///{machine.metadata.name}"
        assert [address.type for address in machine.status.addresses] == list(ADDRESS_TYPES)
        assert machine.spec.failure_domain == "west"
        placed = "west" if dialect.contract == "v1beta2" else ""
        assert (machine.status.failure_domain or "") == placed
        assert condition(machine, "InfrastructureReady").status == "True"


async def check_what_core_wrote(at: Plane, dialect: Dialect, name: str) -> None:
    """Owners and a label, and not a field more."""
    infra = await at.one(dialect.clusters, name)
    assert infra["spec"]["region"] == "moon"
    assert infra["status"]["network"] == "10.0.0.0/8"
    assert [item["kind"] for item in infra["metadata"]["ownerReferences"]] == ["Cluster"]
    assert infra["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": name}
    core = [field for field in infra["metadata"]["managedFields"] if field["manager"] == "kapy"]
    assert [set(item["fieldsV1"]) for item in core] == [{"f:metadata"}]
    for machine in await at.all(dialect.machines):
        (owner,) = machine["metadata"]["ownerReferences"]
        assert (owner["apiVersion"], owner["kind"]) == ("cluster.x-k8s.io/v1beta2", "Machine")
        assert owner["controller"]


async def upgrade(at: Plane, dialect: Dialect, name: str) -> None:
    """The control plane first, then the workers."""
    if dialect.own_plane:
        await at.spec(dialect.control_planes, name, version=NEW)
        await at.story.settle(3)
    else:
        await at.story.merge(KubeadmControlPlane, name, {"spec": {"version": NEW}})
        await at.story.until(Cluster, name, _controls(NEW))
    template = {"spec": {"version": NEW}}
    await at.story.merge(MachineDeployment, name, {"spec": {"template": template}})
    await at.story.settle(5)
    await at.story.until(Cluster, name, available(2))
    assert {worker.spec.version for worker in await workers(at, name)} == {NEW}


def _controls(version: str) -> Callable[[Cluster], bool]:
    def holds(cluster: Cluster) -> bool:
        status = cluster.status.control_plane
        return status is not None and [
            status_version.version for status_version in status.versions
        ] == [version]

    return holds


async def check_the_end(at: Plane, dialect: Dialect, name: str) -> None:
    await at.story.settle(30)
    for resource in dialect.resources:
        assert not await at.all(resource), resource.kind
    assert not [
        machine for machine in await at.story.all(Machine) if machine.spec.cluster_name == name
    ]
    label = f"cluster.x-k8s.io/cluster-name={name}"
    assert not (await at.client.list(SECRETS, "default", labels=label)).items
    # Machines before the control plane, and that before the network.
    context = at.providers[dialect.name].deleted
    assert context[-1] == "Cluster"
    if dialect.own_plane:
        assert context[-2] == "ControlPlane"
