"""The controllers of a plane have the rights of their release: a provider must grant the rest."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.apps.all_in_one import management_plane
from kapy.apps.controller_rights import PROGRAMS
from kapy.apps.manager.programs import PROGRAMS as MANAGERS
from kapy.apps.settings import ControllerConfig, ManagerName, Settings
from kapy.contract.external import AGGREGATE_TO_MANAGER
from kapy.kube import Document, Key
from kapy.kube.names import CRDS
from kapy.testing.fake_core import reference
from kapy.testing.story import Story
from tests.contract.test_rights import ROLES, role
from tests.providers.scripted.dialects import BIRCH
from tests.providers.scripted.test_lives import condition
from tests.stories.plane import own_kinds, sample

GROUP = BIRCH.clusters.group


async def test_a_provider_without_its_role_fails_as_on_any_kubernetes() -> None:
    async with management_plane(Settings(), clock=loop_clock(), random=Random(1)) as plane:
        story = Story(plane.client, [*own_kinds(), *BIRCH.resources])
        for crd in BIRCH.crds():
            await plane.client.create(CRDS, crd)
        where = {"name": "birch", "namespace": "default"}
        api_version = BIRCH.clusters.api_version
        infra = {"apiVersion": api_version, "kind": BIRCH.clusters.kind, "metadata": where}
        cluster: Document = {
            "apiVersion": Cluster.RESOURCE.api_version,
            "kind": "Cluster",
            "metadata": where,
            "spec": {"infrastructureRef": reference(infra)},
        }
        await story.create([infra, cluster])
        await story.settle(5)
        result = await story.get(Cluster, "birch")
        assert result is not None
        value = condition(result, "InfrastructureReady")
        assert value.status == "Unknown"
        assert value.message.startswith(f"{BIRCH.clusters.kind}.{GROUP} may not be read by core: ")
        assert 'User "system:serviceaccount:kapy-system:kapy" cannot ' in value.message
        assert value.message.endswith(f'has the label {AGGREGATE_TO_MANAGER}: "true"')

        await plane.client.create(ROLES, role("birch", GROUP))
        result = await story.until(
            Cluster,
            "birch",
            lambda item: condition(item, "InfrastructureReady").status != "Unknown",
        )
        assert condition(result, "InfrastructureReady").status == "False"


async def test_the_life_of_a_cluster_takes_no_more_than_the_rights_of_the_releases() -> None:
    settings = Settings(inventory=True)
    async with management_plane(settings, clock=loop_clock(), random=Random(1)) as plane:
        story = Story(plane.client, own_kinds())
        await story.create(sample())
        name = next(
            document["metadata"]["name"] for document in sample() if document["kind"] == "Cluster"
        )
        await story.until(
            Cluster,
            name,
            lambda cluster: any(
                item.type == "Available" and item.status == "True"
                for item in cluster.status.conditions
            ),
        )
        await plane.client.delete(Cluster.RESOURCE, Key("default", name))
        await story.until_gone(Cluster, name)
        rights = plane.server.access.grants.built_in
        assert rights is not None
        assert rights.denied_requests == []


_SOME: list[frozenset[ManagerName]] = [
    *(frozenset({program}) for program in PROGRAMS),
    *(frozenset(PROGRAMS) - {program} for program in PROGRAMS),
    frozenset(PROGRAMS),
]


@pytest.mark.parametrize("without", _SOME, ids=lambda value: ",".join(sorted(value)))
async def test_a_plane_without_some_managers_has_enough_permissions(
    without: frozenset[ManagerName],
) -> None:
    settings = Settings(inventory=True, controllers=ControllerConfig(disabled_managers=without))
    async with management_plane(settings, clock=loop_clock(), random=Random(1)) as plane:
        await asyncio.sleep(60)
        rights = plane.server.access.grants.built_in
        assert rights is not None
        assert rights.denied_requests == []


def test_the_rights_are_those_of_all_managers() -> None:
    assert set(PROGRAMS) == set(MANAGERS)
