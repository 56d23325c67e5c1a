"""Providers that break their contract: the owner says which rule, object and field, goes on when
it is put right, and nobody else is held up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.kube import Document, Key
from kapy.kube.errors import ServerError
from kapy.kube.http import Request
from kapy.kube.names import CRDS, Resource
from tests.contract.broken_fields import CONTRACTS, GOOD, OF_CLUSTERS, OF_MACHINES
from tests.core.environment import (
    CONFIGS,
    CONTROL_PLANES,
    INFRA_CLUSTERS,
    INFRA_MACHINES,
    INFRA_TEMPLATES,
    VERSION,
    Environment,
    cluster,
    core_environment,
    deployment,
    of,
    reference,
    running_cluster,
    templates,
)


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Environment]:
    """Core's controllers, running."""
    async with core_environment() as running:
        yield running


def condition(
    obj: Cluster | Machine | MachineDeployment | MachineSet | None, of_type: str
) -> Condition:
    assert obj is not None
    (value,) = [item for item in obj.status.conditions or () if item.type == of_type]
    return value


async def write(plane: Environment, resource: Resource, name: str, spec: Any, status: Any) -> None:
    key = Key("default", name)
    await plane.client.patch(resource, key, {"spec": spec})
    await plane.client.patch(resource, key, {"status": status}, subresource="status")


async def test_a_cluster_says_how_its_parts_break_the_contract(plane: Environment) -> None:
    names = [f"broken-{number}" for number in range(len(OF_CLUSTERS))]
    for name in [*names, "fine"]:
        parts = [of(INFRA_CLUSTERS, name, spec={}), of(CONTROL_PLANES, name, spec={})]
        await plane.create(*parts, cluster(name))
    await plane.settle(1)
    for name, broken in zip(names, OF_CLUSTERS, strict=True):
        await write(plane, broken.resource, name, broken.spec, broken.status)
    await write(plane, INFRA_CLUSTERS, "fine", {}, GOOD)
    await plane.settle(1)
    for name, broken in zip(names, OF_CLUSTERS, strict=True):
        contract, of_type = CONTRACTS[broken.resource]
        result = condition(await plane.story.get(Cluster, name), of_type)
        who = f"{broken.resource.kind} default/{name}"
        assert (result.status, result.reason) == ("Unknown", "InternalError")
        assert result.message == f"{who} breaks the {contract} contract v1beta2: {broken.said}"
    fine = await plane.story.get(Cluster, "fine")
    assert condition(fine, "InfrastructureReady").status == "True"
    await they_go_all_the_same(plane, Cluster, names)


async def test_a_machine_says_how_its_parts_break_the_contract(plane: Environment) -> None:
    await running_cluster(plane)
    names = [f"broken-{number}" for number in range(len(OF_MACHINES))]
    for name in [*names, "fine"]:
        await plane.create(*a_machine(name))
    await plane.settle(1)
    for name, broken in zip(names, OF_MACHINES, strict=True):
        await write(plane, broken.resource, name, broken.spec, broken.status)
    await plane.boot("fine")
    await plane.settle(1)
    for name, broken in zip(names, OF_MACHINES, strict=True):
        contract, of_type = CONTRACTS[broken.resource]
        result = condition(await plane.story.get(Machine, name), of_type)
        who = f"{broken.resource.kind} default/{name}"
        assert result.message == f"{who} breaks the {contract} contract v1beta2: {broken.said}"
        assert (result.status, result.reason) == ("Unknown", "InternalError")
    fine = await plane.story.get(Machine, "fine")
    assert condition(fine, "InfrastructureReady").status == "True"
    assert fine is not None
    assert fine.status.phase == "Running"
    await they_go_all_the_same(plane, Machine, names)


async def they_go_all_the_same(plane: Environment, kind: type[Any], names: list[str]) -> None:
    """Broken objects can still be deleted."""
    for name in names:
        await plane.client.delete(kind, Key("default", name))
    await plane.settle(30)
    assert not {item.metadata.name for item in await plane.story.all(kind)} & set(names)


async def test_a_corrected_object_continues(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*a_machine("one"))
    await plane.settle(1)
    await write(plane, INFRA_MACHINES, "one", {"providerID": 7, "foreign": {"a": [1]}}, GOOD)
    await plane.settle(1)
    assert (
        condition(await plane.story.get(Machine, "one"), "InfrastructureReady").status == "Unknown"
    )
    await plane.boot("one")
    await plane.settle(1)
    machine = await plane.story.get(Machine, "one")
    assert condition(machine, "InfrastructureReady").status == "True"
    infra = await plane.provider(INFRA_MACHINES, "one")
    assert infra["spec"] == {"providerID": "fake://one", "foreign": {"a": [1]}}


UNREADABLE: Final[list[tuple[list[Document], str]]] = [
    (
        [{"type": "Ready", "status": "Maybe"}],
        "status for the Ready condition must be one of True, False, Unknown",
    ),
    ([{"type": "Ready"}], "status must be set for the Ready condition"),
    ([{"type": "Ready", "status": True}], "status must be a string"),
    ([{"status": "True"}], "type must be set for all conditions"),
]


async def test_conditions_that_cannot_be_read_are_reported(plane: Environment) -> None:
    await running_cluster(plane)
    for conditions, message in UNREADABLE:
        await plane.report(INFRA_CLUSTERS, "c", conditions=conditions)
        await plane.settle(1)
        result = condition(await plane.story.get(Cluster, "c"), "InfrastructureReady")
        assert (result.status, result.reason) == ("Unknown", "InvalidConditionReported")
        assert result.message == (
            "failed to convert status.conditions from FakeCluster to []metav1.Condition: " + message
        )


async def test_a_provider_id_is_immutable_and_unique(plane: Environment) -> None:
    await running_cluster(plane)
    for name in ("one", "two"):
        await plane.create(*a_machine(name))
    await plane.settle(1)
    await plane.boot("one")
    await plane.settle(1)
    await write(plane, INFRA_MACHINES, "two", {"providerID": "fake://one"}, GOOD)
    await write(plane, INFRA_MACHINES, "one", {"providerID": "fake://other"}, GOOD)
    await plane.settle(1)
    machine, two = [await plane.story.get(Machine, name) for name in ("one", "two")]
    assert machine is not None
    assert two is not None
    assert condition(machine, "InfrastructureReady").message == (
        "FakeMachine default/one breaks the InfraMachine contract v1beta2: .spec.providerID: has "
        'changed from "fake://one" to "fake://other", but Node one was matched by it and it must '
        "stay"
    )
    assert condition(two, "InfrastructureReady").message == (
        "FakeMachine default/two breaks the InfraMachine contract v1beta2: .spec.providerID: "
        '"fake://one" is the one of Machine default/one too'
    )
    assert (machine.spec.provider_id, two.spec.provider_id) == ("fake://one", "")
    assert machine.status.node_ref is not None
    assert two.status.node_ref is None


PUT_RIGHT: Final = {"cluster.x-k8s.io/v1beta2": "v1beta2"}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            {"cluster.x-k8s.io/v1beta2": None},
            'cannot find any versions matching contract versions "[v1beta2 v1beta1]" for CRD '
            "fakemachines.infrastructure.cluster.x-k8s.io as contract version label(s) are either "
            "missing or empty (see https://cluster-api.sigs.k8s.io/developer/providers/contracts/"
            "overview.html#api-version-labels)",
        ),
        (
            {"cluster.x-k8s.io/v1beta2": "v1_v1alpha1"},
            "CRD fakemachines.infrastructure.cluster.x-k8s.io has the label "
            "cluster.x-k8s.io/v1beta2: v1_v1alpha1, but this names versions v1, v1alpha1, which it "
            "does not have (versions that it serves: v1beta2)",
        ),
    ],
)
async def test_a_crd_without_a_contract_is_reported_until_it_has_one(
    plane: Environment, labels: Document, message: str
) -> None:
    await running_cluster(plane)
    name = Key("", INFRA_MACHINES.group_resource)
    await plane.client.patch(CRDS, name, {"metadata": {"labels": labels}})
    await plane.create(*a_machine("one"))
    await plane.settle(1)
    result = condition(await plane.story.get(Machine, "one"), "InfrastructureReady")
    assert (result.status, result.reason, result.message) == ("Unknown", "InternalError", message)
    await plane.settle(600)
    await plane.client.patch(CRDS, name, {"metadata": {"labels": PUT_RIGHT}})
    await plane.settle(1)
    result = condition(await plane.story.get(Machine, "one"), "InfrastructureReady")
    assert result.message == "FakeMachine status.initialization.provisioned is false"


async def test_a_kind_that_is_not_installed_is_awaited(plane: Environment) -> None:
    definition = await plane.client.get(CRDS, Key("", INFRA_CLUSTERS.group_resource))
    await plane.client.delete(CRDS, Key("", INFRA_CLUSTERS.group_resource))
    await plane.create(cluster())
    await plane.settle(600)
    result = condition(await plane.story.get(Cluster, "c"), "InfrastructureReady")
    assert result.message == (
        "failed to get object from ref: failed to get CustomResourceDefinition metadata: "
        "customresourcedefinitions.apiextensions.k8s.io "
        '"fakeclusters.infrastructure.cluster.x-k8s.io" not found'
    )
    parts = {key: value for key, value in definition.items() if key not in ("metadata", "status")}
    metadata = {key: definition["metadata"][key] for key in ("name", "labels")}
    await plane.client.create(CRDS, {**parts, "metadata": metadata})
    await plane.settle(1)
    result = condition(await plane.story.get(Cluster, "c"), "InfrastructureReady")
    assert result.message == "FakeCluster does not exist"


async def test_vanished_objects_are_reported(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*a_machine("one"))
    await plane.settle(1)
    await plane.boot("one")
    await plane.settle(1)
    for resource, name in ((INFRA_CLUSTERS, "c"), (CONTROL_PLANES, "c"), (INFRA_MACHINES, "one")):
        await plane.client.delete(resource, Key("default", name))
    await plane.settle(1)
    result, machine = await plane.story.get(Cluster, "c"), await plane.story.get(Machine, "one")
    for of_type, kind in (
        ("InfrastructureReady", "FakeCluster"),
        ("ControlPlaneAvailable", "FakeControlPlane"),
    ):
        value = condition(result, of_type)
        removal = f"{kind} has been deleted while the cluster still exists"
        assert (value.reason, value.message) == ("ObjectDeleted", removal)
    value = condition(machine, "InfrastructureReady")
    assert value.message == "FakeMachine has been deleted while the Machine still exists"


DOWN: Final = 'failed calling webhook "validation.fake": connection refused'


async def test_a_webhook_that_is_down_is_reported_and_outlived(plane: Environment) -> None:
    await running_cluster(plane)

    def down(request: Request) -> Exception | None:
        created = request.method in ("POST", "PATCH") and "/fakemachines" in request.path
        return ServerError(DOWN) if created else None

    plane.controllers.fault = down
    await plane.create(*templates(), deployment(1))
    await plane.settle(5)
    (machine_set,) = await plane.story.all(MachineSet)
    result = condition(machine_set, "ScalingUp")
    assert result.message == (
        "Scaling up from 0 to 1 replicas is blocked because:\n"
        f"* FakeMachine cannot be created: {DOWN}"
    )
    plane.controllers.fault = lambda _: None
    await plane.settle(60)
    assert len(await plane.story.all(Machine)) == 1


async def test_templates_that_cannot_be_read_are_reported(plane: Environment) -> None:
    await running_cluster(plane)
    name = Key("", INFRA_TEMPLATES.group_resource)
    label = {"cluster.x-k8s.io/v1beta2": "v3"}
    await plane.client.patch(CRDS, name, {"metadata": {"labels": label}})
    await plane.create(*templates(), deployment(1))
    await plane.settle(5)
    wrong = (
        "CRD fakemachinetemplates.infrastructure.cluster.x-k8s.io has the label "
        "cluster.x-k8s.io/v1beta2: v3, but this names version v3, which it does not have (versions "
        "that it serves: v1beta2)"
    )
    (machine_set,) = await plane.story.all(MachineSet)
    assert condition(machine_set, "ScalingUp").message == (
        f"Scaling up from 0 to 1 replicas is blocked because:\n* {wrong}"
    )
    owner = await plane.story.get(MachineDeployment, "md")
    assert condition(owner, "ScalingUp").message == (
        f"Scaling up from 0 to 1 replicas is blocked because {wrong}"
    )
    await plane.client.patch(CRDS, name, {"metadata": {"labels": {**label, **PUT_RIGHT}}})
    await plane.settle(5)
    assert len(await plane.story.all(Machine)) == 1


async def test_a_template_that_is_not_an_object_is_reported(plane: Environment) -> None:
    await running_cluster(plane)
    _, config = templates()
    await plane.create(of(INFRA_TEMPLATES, "md", spec={"template": []}), config, deployment(1))
    await plane.settle(5)
    (machine_set,) = await plane.story.all(MachineSet)
    assert condition(machine_set, "ScalingUp").message == (
        "Scaling up from 0 to 1 replicas is blocked because:\n* FakeMachine cannot be created: "
        ".spec.template: is no object, but list in FakeMachineTemplate default/md"
    )


def a_machine(name: str) -> list[Document]:
    """A Machine that stands alone, and what it refers to."""
    spec = {
        "clusterName": "c",
        "version": VERSION,
        "bootstrap": {"configRef": reference(CONFIGS, name)},
        "infrastructureRef": reference(INFRA_MACHINES, name),
    }
    machine = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    return [of(INFRA_MACHINES, name, spec={}), of(CONFIGS, name, spec={}), machine]
