"""A ClusterClass: whose its templates are, which references are old, which variables there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_patches import ExternalPatchDefinition
from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.api.crds import crds
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.core.clusterclass.controller import add_to
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.http import ADMIN
from kapy.kube.model import decode
from kapy.kube.names import CRDS, Resource
from kapy.topology.discovery import VariableDiscovery
from tests.core.environment import crd_of, default_namespace, of


def fake(group: str, kind: str) -> Resource:
    return Resource(f"{group}.cluster.x-k8s.io", "v1beta2", f"{kind.lower()}s", kind)


CLUSTERS = fake("infrastructure", "FakeClusterTemplate")
PLANES = fake("controlplane", "FakeControlPlaneTemplate")
MACHINES = fake("infrastructure", "FakeMachineTemplate")
CONFIGS = fake("bootstrap", "FakeConfigTemplate")
TEMPLATES = (CLUSTERS, PLANES, MACHINES, CONFIGS)
KEY = Key("default", "meadow")


def ref(resource: Resource) -> Document:
    named = {"apiVersion": resource.api_version, "kind": resource.kind, "name": "meadow"}
    return {"templateRef": named}


def cluster_class(**spec: Any) -> Document:
    worker = {"bootstrap": ref(CONFIGS), "infrastructure": ref(MACHINES)}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "ClusterClass",
        "metadata": {"name": "meadow", "namespace": "default"},
        "spec": {
            "infrastructure": ref(CLUSTERS),
            "controlPlane": {**ref(PLANES), "machineInfrastructure": ref(MACHINES)},
            "workers": {
                "machineDeployments": [{"class": "a", **worker}, {"class": "b", **worker}],
                "machinePools": [{"class": "c", **worker}],
            },
            **spec,
        },
    }


def variable(name: str, of_type: str = "string") -> Document:
    schema = {"openAPIV3Schema": {"type": of_type}}
    return {"name": name, "required": False, "schema": schema}


@dataclass
class ClassEnvironment:
    client: Client

    async def create(self, document: Document) -> ClusterClass:
        """Make a class, and give it time."""
        await self.client.create(ClusterClass.RESOURCE, document)
        return await self.found()

    async def found(self) -> ClusterClass:
        await asyncio.sleep(2)
        return await self.client.get(ClusterClass, KEY)

    async def templates(self) -> None:
        for resource in TEMPLATES:
            await self.client.create(resource, of(resource, "meadow"))

    async def owners(self, resource: Resource) -> list[Document]:
        document = await self.client.get(resource, KEY)
        return list(document["metadata"].get("ownerReferences") or [])


@asynccontextmanager
async def class_environment(
    discovery: VariableDiscovery | None = None,
) -> AsyncIterator[ClassEnvironment]:
    server = Server.open(None, clock=loop_clock())
    client = Client(server.transport(ADMIN), field_manager="person")
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(server.run())]
        await default_namespace(client)
        for crd in (*crds(), *map(crd_of, TEMPLATES)):
            await client.create(CRDS, crd)
        runtime = Runtime.on(server.transport(ADMIN), clock=loop_clock(), random=Random(0))
        add_to(runtime, discovery=discovery)
        running.append(group.create_task(runtime.run()))
        yield ClassEnvironment(client)
        for task in running:
            task.cancel()
    server.close()


def said(value: ClusterClass) -> dict[str, tuple[str, str, str]]:
    return {
        condition.type: (condition.status, condition.reason, condition.message)
        for condition in value.status.conditions
    }


def legacy(value: ClusterClass) -> dict[str, tuple[str, str, str]]:
    assert value.status.deprecated is not None
    assert value.status.deprecated.v1beta1 is not None
    conditions = value.status.deprecated.v1beta1.conditions
    return {
        condition.type: (condition.status, condition.reason, condition.severity)
        for condition in conditions
    }


async def test_a_class_owns_its_templates_and_reports_success() -> None:
    async with class_environment() as at:
        await at.templates()
        result = await at.create(cluster_class(variables=[variable("b"), variable("a")]))
        for resource in TEMPLATES:
            (owner,) = await at.owners(resource)
            assert (owner["kind"], owner["uid"]) == ("ClusterClass", result.metadata.uid)
            assert "controller" not in owner
        assert said(result) == {
            "Paused": ("False", "NotPaused", ""),
            "RefVersionsUpToDate": ("True", "RefVersionsUpToDate", ""),
            "VariablesReady": ("True", "VariablesReady", ""),
        }
        assert legacy(result) == {
            "RefVersionsUpToDate": ("True", "", ""),
            "VariablesReconciled": ("True", "", ""),
        }
        assert [status_variable.name for status_variable in result.status.variables] == ["a", "b"]
        assert result.status.observed_generation == result.metadata.generation
        # Somebody takes the owner away: it is put back.
        for resource in TEMPLATES:
            await at.client.patch(resource, KEY, {"metadata": {"ownerReferences": None}})
        await at.found()
        assert all([await at.owners(resource) for resource in TEMPLATES])


async def test_a_missing_template_is_reported_until_it_exists() -> None:
    async with class_environment() as at:
        result = await at.create(cluster_class())
        status, reason, message = said(result)["RefVersionsUpToDate"]
        assert (status, reason) == ("Unknown", "InternalError")
        assert message.count("does not exist") == len(TEMPLATES)
        assert legacy(result)["RefVersionsUpToDate"] == ("Unknown", "InternalError", "")
        assert said(result)["VariablesReady"][0] == "True"
        assert result.status.observed_generation == 0
        await at.templates()
        result = await at.found()
        assert said(result)["RefVersionsUpToDate"][0] == "True"
        assert result.status.observed_generation == result.metadata.generation


async def test_a_reference_to_an_old_version_is_reported() -> None:
    async with class_environment() as at:
        name = Key("", MACHINES.group_resource)
        crd = await at.client.get(CRDS, name)
        older = {**crd["spec"]["versions"][0], "name": "v1beta1", "storage": False}
        versions = {"versions": [*crd["spec"]["versions"], older]}
        labels = {"cluster.x-k8s.io/v1beta1": "v1beta1"}
        await at.client.patch(CRDS, name, {"metadata": {"labels": labels}, "spec": versions})
        await at.templates()
        document = cluster_class()
        old = {"apiVersion": f"{MACHINES.group}/v1beta1", "kind": MACHINES.kind, "name": "meadow"}
        document["spec"]["controlPlane"]["machineInfrastructure"] = {"templateRef": old}
        result = await at.create(document)
        assert said(result)["RefVersionsUpToDate"] == (
            "False",
            "RefVersionsNotUpToDate",
            "The following templateRefs are not using the latest apiVersion:\n"
            "* FakeMachineTemplate meadow: current: v1beta1, latest: v1beta2",
        )
        expected = ("False", "OutdatedRefVersions", "Warning")
        assert legacy(result)["RefVersionsUpToDate"] == expected
        assert result.status.observed_generation == result.metadata.generation


async def test_a_paused_class_is_not_reconciled() -> None:
    async with class_environment() as at:
        await at.templates()
        document = cluster_class(variables=[variable("a")])
        document["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
        result = await at.create(document)
        assert list(said(result)) == ["Paused"]
        assert not result.status.variables
        await at.client.patch(ClusterClass, KEY, {"metadata": {"annotations": None}})
        result = await at.found()
        assert [status_variable.name for status_variable in result.status.variables] == ["a"]


class Extensions:
    """Answers for extensions by their name."""

    def __init__(self, **answers: Sequence[Document] | str) -> None:
        self.answers = answers

    async def discover_variables(
        self, cluster_class: ClusterClass, patch: ExternalPatchDefinition
    ) -> Sequence[ClusterClassVariable]:
        answer = self.answers[patch.discover_variables_extension]
        if isinstance(answer, str):
            raise KapyError(answer)
        return [decode(document, ClusterClassVariable) for document in answer]


def patches(*names: str) -> list[Document]:
    return [{"name": name, "external": {"discoverVariablesExtension": name}} for name in names]


async def test_extensions_define_variables_too() -> None:
    extensions = Extensions(one=[variable("x")], two=[variable("a"), variable("y")])
    async with class_environment(extensions) as at:
        await at.templates()
        document = cluster_class(variables=[variable("a")], patches=patches("one", "two"))
        result = await at.create(document)
        assert said(result)["VariablesReady"][0] == "True"
        origins = {v.name: [d.from_ for d in v.definitions] for v in result.status.variables}
        assert origins == {"a": ["inline", "two"], "x": ["one"], "y": ["two"]}


@pytest.mark.parametrize(
    ("extensions", "message", "names"),
    [
        (
            Extensions(one="it is gone"),
            "VariableDiscovery failed: failed to call DiscoverVariables for patch one: it is gone",
            [],
        ),
        (
            Extensions(one=[variable("v-1", "nonsense")]),
            'one.variables[v-1].schema.openAPIV3Schema.type: Unsupported value: "nonsense"',
            [],
        ),
        (
            Extensions(one=[variable("a", "integer")]),
            "VariableDiscovery failed: the following variables have conflicting schemas: a",
            ["a"],
        ),
    ],
)
async def test_invalid_discovered_variables_are_reported_in_a_condition(
    extensions: Extensions, message: str, names: list[str]
) -> None:
    async with class_environment(extensions) as at:
        await at.templates()
        result = await at.create(cluster_class(variables=[variable("a")], patches=patches("one")))
        status, reason, text = said(result)["VariablesReady"]
        assert (status, reason) == ("False", "VariableDiscoveryFailed")
        assert message in text
        assert legacy(result)["VariablesReconciled"] == (
            "False",
            "VariableDiscoveryFailed",
            "Error",
        )
        assert [status_variable.name for status_variable in result.status.variables] == names
        assert result.status.observed_generation == 0
