"""Managers migrate their kinds, with the rights of their components and no others."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.features import FeatureGates
from kapy.api.kinds import KINDS
from kapy.apiserver.rbac.built_in import BuiltInRights
from kapy.apiserver.rbac.rules import allows
from kapy.apiserver.request_info import request_info
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.components.rules import rules_of
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.migrated_kinds import migrated_kinds, migration_rights, resources_of
from kapy.apps.settings import ControllerConfig, Settings
from kapy.engine.crd_migration.controller import is_observed
from kapy.engine.crd_migration.phases import PHASES, Phase
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict
from kapy.kube.http import User
from kapy.kube.names import CRDS, Resource
from tests.apps.manager.test_components import printed, released
from tests.apps.manager.test_rights import single
from tests.engine.crd_migration.world import World, world

NAMES = pytest.mark.parametrize("name", PROGRAMS)
USER = User("system:serviceaccount:capi-system:manager", ("system:authenticated",))
STORED, OTHERS = "served stored", "served"


def versions(resource: Resource, older: str) -> dict[str, str]:
    return {"v0": older, resource.version: STORED}


async def an_old_object(here: World, resource: Resource) -> None:
    """An object that was applied and stored in a version that is not served any more."""
    old = replace(resource, version="v0")
    await here.install({"v0": STORED}, resource)
    await here.apply(old, "one", "unit", foo="foo")
    await here.install(versions(resource, OTHERS), resource)
    await here.install(versions(resource, ""), resource)


@NAMES
async def test_each_kind_is_migrated_with_the_rights_of_the_manager(name: str) -> None:
    async with world() as here:
        kinds = {one.group_resource: status for one, status in resources_of(name)}
        for resource, _ in resources_of(name):
            await an_old_object(here, resource)
        rules = rules_of(migration_rights(name))
        rights = BuiltInRights(here.server.store, USER, rules)
        here.server.access.grants.built_in = rights
        # The write that comes first does not count: only the cleanup reads an object again.
        fails = {
            one.path("default", "one"): [Conflict("somebody was quicker")] * (1 if status else 2)
            for one, status in resources_of(name)
        }
        async with here.migrator(kinds, user=USER, fails=fails) as asked:
            for resource, _ in resources_of(name):
                [owners] = (await here.owners(resource)).values()
                assert owners == [("unit", resource.version)]
                definition = await here.client.get(CRDS, Key("", resource.group_resource))
                assert definition["status"]["storedVersions"] == [resource.version]
            assert rights.refused == []
            wanted = [request_info(one).attributes(USER) for one in asked.requests]
        unused = [
            one
            for rule in rules
            for one in single(rule)
            if not any(allows(one, each) for each in wanted)
        ]
        assert unused == []


@NAMES
def test_the_definitions_that_may_be_written_are_those_of_upstreams_manager(name: str) -> None:
    ours, theirs = (written(one) for one in (printed(name), released(name)))
    assert ours == theirs


def written(objects: list[Document]) -> dict[str, set[str]]:
    """Which CRDs may be patched, by what of them."""
    found: dict[str, set[str]] = {}
    for one in objects:
        for rule in one.get("rules") or () if one["kind"] == "ClusterRole" else ():
            if CRDS.group in rule["apiGroups"] and "patch" in rule["verbs"]:
                for resource in rule["resources"]:
                    found.setdefault(resource, set()).update(rule["resourceNames"])
    return found


@pytest.mark.parametrize("skipped", [frozenset[Phase](), frozenset(PHASES)], ids=len)
async def test_a_new_plane_has_nothing_to_migrate(skipped: frozenset[Phase]) -> None:
    told = ControllerConfig(skipped_migration_phases=skipped)
    async with plane(told) as there:
        found = {one["metadata"]["name"]: one for one in (await there.client.list(CRDS)).items}
        ours = migrated_kinds(PROGRAMS, FeatureGates(cluster_topology=True, runtime_sdk=True))
        assert [name for name in ours if not is_observed(found[name])] == []


async def test_a_plane_migrates_what_changes() -> None:
    key = Key("", Cluster.RESOURCE.group_resource)
    async with plane(ControllerConfig()) as there:
        names = {"spec": {"names": {"shortNames": ["cl", "clu"]}}}
        assert not is_observed(await there.client.patch(CRDS, key, names))
        await asyncio.sleep(10)
        found = await there.client.get(CRDS, key)
        assert is_observed(found)
        assert found["metadata"]["generation"] == 2


def plane(told: ControllerConfig) -> AbstractAsyncContextManager[ManagementPlane]:
    settings = Settings(controllers=told)
    return management_plane(settings, clock=loop_clock(), random=Random(1))


def test_every_kind_has_one_manager() -> None:
    found = [one.group_resource for name in PROGRAMS for one, _ in resources_of(name)]
    assert sorted(found) == sorted(one.type_of().RESOURCE.group_resource for one in KINDS)


def test_kinds_of_features_that_are_off_are_left_alone() -> None:
    on = FeatureGates(cluster_topology=True, machine_pool=True, runtime_sdk=True)
    off = FeatureGates(cluster_topology=False, machine_pool=False, runtime_sdk=False)
    left = migrated_kinds(PROGRAMS, on).keys() - migrated_kinds(PROGRAMS, off).keys()
    assert left == {
        "clusterclasses.cluster.x-k8s.io",
        "extensionconfigs.runtime.cluster.x-k8s.io",
        "machinepools.cluster.x-k8s.io",
        "devmachinepools.infrastructure.cluster.x-k8s.io",
        "devmachinepooltemplates.infrastructure.cluster.x-k8s.io",
        "dockermachinepools.infrastructure.cluster.x-k8s.io",
        "dockermachinepooltemplates.infrastructure.cluster.x-k8s.io",
    }
