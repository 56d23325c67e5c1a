"""Clusters of AWS, vSphere and OpenStack: their CRDs and templates as released, their objects
moved by hand as their controllers would, with a KubeadmControlPlane.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

import pytest

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.contract import (
    BootstrapConfig,
    ControlPlane,
    InfraCluster,
    InfraMachine,
    View,
    resolve,
)
from kapy.contract.external import check_definition
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind
from kapy.testing.story import Story
from tests.providers.scripted.plane import Plane, plane
from tests.providers.scripted.released import (
    CLOUDS,
    DEFINITIONS,
    VERSION,
    Cloud,
    released_crds,
    resource_of,
)
from tests.providers.scripted.test_lives import condition

FINALIZER = "cloud.example.com"
LABEL = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda value: value.name)
async def test_core_manages_objects_of_a_released_provider(cloud: Cloud) -> None:
    async with plane(crds=cloud.crds()) as at:
        for document in cloud.objects():
            await at.client.create(resource_of(document), document)
        await a_network_is_made(at, cloud)
        control_plane = await a_control_plane_machine_boots(at, cloud)
        worker = await a_worker_boots(at, cloud)
        await nothing_of_the_provider_was_touched(at, cloud, worker)
        await what_goes_goes_in_order(at, cloud, control_plane, worker)


ROLES: Final[dict[str, type[View]]] = {
    "infrastructure .*Cluster": InfraCluster,
    "infrastructure .*Machine": InfraMachine,
    "infrastructure .*MachinePool": InfraMachinePool,
    "bootstrap .*Config": BootstrapConfig,
    "controlplane .*ControlPlane": ControlPlane,
}


@pytest.mark.parametrize(
    "provider", sorted(path.name.partition(".")[0] for path in DEFINITIONS.iterdir())
)
def test_released_definitions_have_room_for_their_contracts(provider: str) -> None:
    for crd in released_crds(provider):
        spec = crd["spec"]
        kind = GroupKind(spec["group"], spec["names"]["kind"])
        message = f"{kind.group.partition('.')[0]} {kind.kind}"
        for pattern, view in ROLES.items():
            if re.fullmatch(pattern, message):
                check_definition(crd, resolve(kind, crd), view)


async def a_network_is_made(at: Plane, cloud: Cloud) -> None:
    await at.story.settle(5)
    kind = cloud.clusters.kind
    version = condition(await cluster_of(at.story, cloud), "InfrastructureReady")
    assert (version.status, version.reason) == ("False", "NotReady")
    assert version.message == f"{kind} status.initialization.provisioned is false"
    infra = await at.one(cloud.clusters, cloud.name)
    assert infra["metadata"]["labels"][LABEL] == cloud.name
    assert [reference["kind"] for reference in infra["metadata"]["ownerReferences"]] == ["Cluster"]
    assert not await at.story.all(Machine)

    await hold(at, cloud, infra)
    await at.status(cloud.clusters, cloud.name, **cloud.pending)
    await at.story.settle(1)
    version = condition(await cluster_of(at.story, cloud), "InfrastructureReady")
    assert (version.status, version.message) == ("False", "no DNS name yet")

    spec, status = cloud.network
    await at.spec(cloud.clusters, cloud.name, **spec)
    await at.status(cloud.clusters, cloud.name, **status)
    cluster = await at.story.until(Cluster, cloud.name, lambda value: value.status.failure_domains)
    assert cluster.spec.control_plane_endpoint.host == f"{cloud.name}.example.com"
    domains = [(domain.name, domain.control_plane) for domain in cluster.status.failure_domains]
    assert domains == list(cloud.domains)
    assert condition(cluster, "InfrastructureReady").status == "True"
    old = replace(Cluster.RESOURCE, version="v1beta1")
    version = (await at.one(old, cloud.name))["spec"]["infrastructureRef"]["apiVersion"]
    assert version == cloud.clusters.api_version, "the version that the CRD says"


async def a_control_plane_machine_boots(at: Plane, cloud: Cloud) -> Machine:
    (machine,) = await machines(at, control_plane=True)
    assert machine.spec.failure_domain in [name for name, suits in cloud.domains if suits]
    owner = await at.story.get(KubeadmControlPlane, machine.metadata.owner_references[0].name)
    assert owner is not None
    template = owner.spec.machine_template.spec.infrastructure_ref.name
    await check_clone(at, cloud, machine, template)
    assert condition(machine, "InfrastructureReady").status == "False"
    result = await boot(at, cloud, machine)
    await at.story.until(Cluster, cloud.name, _is_initialized)
    return result


async def a_worker_boots(at: Plane, cloud: Cloud) -> Machine:
    (machine,) = await machines(at, control_plane=False)
    waits = condition(machine, "InfrastructureReady")
    assert (waits.status, waits.reason) == ("False", "NotReady")
    await at.story.until(
        Machine, machine.metadata.name, lambda value: value.spec.bootstrap.data_secret_name
    )
    machine = await boot(at, cloud, machine)
    cluster = await at.story.until(Cluster, cloud.name, _is_available)
    assert cluster.status.phase == "Provisioned"
    return machine


async def boot(at: Plane, cloud: Cloud, machine: Machine) -> Machine:
    """The instance runs: the provider says so, and kubeadm has done its work."""
    name, labels = machine.metadata.name, machine.metadata.labels
    ref = machine.spec.infrastructure_ref.name
    await hold(at, cloud, await at.one(cloud.machines, ref))
    spec, status = cloud.instance_of(name)
    await at.spec(cloud.machines, ref, **spec)
    await at.story.settle(1)
    early = await at.story.get(Machine, name)
    assert early is not None
    assert not early.spec.provider_id, "a provider ID counts when all is provisioned"
    await at.status(cloud.machines, ref, **status)
    where = at.workloads.at(f"{cloud.name}.example.com")
    await at.story.settle(1)
    await where.boot(name, spec["providerID"], VERSION, control_plane=CONTROL_PLANE in labels)
    running = await at.story.until(Machine, name, lambda value: value.status.phase == "Running")
    assert running.spec.provider_id == spec["providerID"]
    assert [address.type for address in running.status.addresses] == [
        "Hostname",
        "InternalIP",
        "ExternalIP",
    ]
    assert condition(running, "InfrastructureReady").status == "True"
    return running


async def nothing_of_the_provider_was_touched(at: Plane, cloud: Cloud, worker: Machine) -> None:
    ref = worker.spec.infrastructure_ref.name
    spec, status = cloud.instance_of(worker.metadata.name)
    for resource, name, expected in (
        (cloud.clusters, cloud.name, {"spec": cloud.network[0], "status": cloud.network[1]}),
        (cloud.machines, ref, {"spec": spec, "status": status}),
    ):
        document = await at.one(resource, name)
        assert document["status"] == expected["status"]
        assert expected["spec"].items() <= document["spec"].items()


async def what_goes_goes_in_order(
    at: Plane, cloud: Cloud, control_plane: Machine, worker: Machine
) -> None:
    await at.story.client.delete(Cluster, Key("default", cloud.name))
    for machine in (worker, control_plane):
        await at.story.settle(30)
        result = condition(await cluster_of(at.story, cloud), "Deleting")
        role = "Workers" if machine is worker else "ControlPlane"
        assert result.reason == f"WaitingFor{role}Deletion"
        await let_go(at, cloud, cloud.machines, machine.spec.infrastructure_ref.name)
        await at.workloads.at(f"{cloud.name}.example.com").power_off(machine.metadata.name)
        await at.story.until_gone(Machine, machine.metadata.name)
    await at.story.settle(1)
    assert not await at.story.all(KubeadmControlPlane)
    await at.story.settle(5)
    result = condition(await cluster_of(at.story, cloud), "Deleting")
    assert result.reason == "WaitingForInfrastructureDeletion"
    await let_go(at, cloud, cloud.clusters, cloud.name)
    await at.story.until_gone(Cluster, cloud.name)


async def check_clone(at: Plane, cloud: Cloud, machine: Machine, template: str) -> None:
    infra = await at.one(cloud.machines, machine.spec.infrastructure_ref.name)
    made_of = await at.one(cloud.templates, template)
    wanted: dict[str, Any] = made_of["spec"]["template"]["spec"]
    assert wanted.items() <= infra["spec"].items()
    annotations = infra["metadata"]["annotations"]
    assert annotations["cluster.x-k8s.io/cloned-from-name"] == template
    group_kind = f"{cloud.templates.kind}.{cloud.templates.group}"
    assert annotations["cluster.x-k8s.io/cloned-from-groupkind"] == group_kind


async def machines(at: Plane, *, control_plane: bool) -> list[Machine]:
    await at.story.settle(2)
    results = await at.story.all(Machine)
    return [
        machine
        for machine in results
        if (CONTROL_PLANE in machine.metadata.labels) == control_plane
    ]


async def cluster_of(story: Story, cloud: Cloud) -> Cluster:
    cluster = await story.get(Cluster, cloud.name)
    assert cluster is not None
    return cluster


async def hold(at: Plane, cloud: Cloud, document: Document) -> None:
    """The provider puts its finalizer on."""
    resource = cloud.clusters if document["kind"] == cloud.clusters.kind else cloud.machines
    patch = {"metadata": {"finalizers": [FINALIZER]}}
    await at.client.patch(resource, Key.of(document), patch)


async def let_go(at: Plane, cloud: Cloud, resource: Any, name: str) -> None:
    """The provider has taken down what there was, and removes its finalizer."""
    document = await at.one(resource, name)
    assert document["metadata"].get("deletionTimestamp"), name
    patch = {"metadata": {"finalizers": None}}
    await at.client.patch(resource, Key.of(document), patch)


def _is_initialized(cluster: Cluster) -> bool:
    return bool(cluster.status.initialization.control_plane_initialized)


def _is_available(cluster: Cluster) -> bool:
    return any(
        item.type == "Available" and item.status == "True" for item in cluster.status.conditions
    )
