"""Managers migrate their kinds, with the rights of their components and no others."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.features import FeatureGates
from kapy.api.kinds import KINDS
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.migrated_kinds import migrated_kinds, migration_rights, resources_of
from kapy.apps.settings import ControllerConfig, Settings
from kapy.engine.crd_migration import PHASES, Phase
from kapy.engine.crd_migration.controller import is_observed
from kapy.kube import Document, Key
from kapy.kube.names import CRDS
from tests.apps.manager.test_components import (
    printed,
    released,
)
from tests.apps.migrating import migrated

NAMES = pytest.mark.parametrize("name", PROGRAMS)


@NAMES
async def test_each_kind_is_migrated_with_the_rights_of_the_manager(name: str) -> None:
    await migrated(list(resources_of(name)), list(migration_rights(name)))


@NAMES
def test_the_definitions_that_may_be_written_are_those_of_upstreams_manager(name: str) -> None:
    ours, theirs = (written(entry) for entry in (printed(name), released(name)))
    assert ours == theirs


def written(objects: list[Document]) -> dict[str, set[str]]:
    """Return the names of the CRDs that ClusterRoles may patch, by resource or subresource."""
    results: dict[str, set[str]] = {}
    for obj in objects:
        for rule in obj.get("rules") or () if obj["kind"] == "ClusterRole" else ():
            if CRDS.group in rule["apiGroups"] and "patch" in rule["verbs"]:
                for resource in rule["resources"]:
                    results.setdefault(resource, set()).update(rule["resourceNames"])
    return results


@pytest.mark.parametrize("skipped", [frozenset[Phase](), frozenset(PHASES)], ids=len)
async def test_a_new_plane_has_nothing_to_migrate(skipped: frozenset[Phase]) -> None:
    config = ControllerConfig(skipped_migration_phases=skipped)
    async with plane(config) as there:
        results = {
            document["metadata"]["name"]: document
            for document in (await there.client.list(CRDS)).items
        }
        ours = migrated_kinds(PROGRAMS, FeatureGates(cluster_topology=True, runtime_sdk=True))
        assert [name for name in ours if not is_observed(results[name])] == []


async def test_a_plane_migrates_changed_kinds() -> None:
    key = Key("", Cluster.RESOURCE.group_resource)
    async with plane(ControllerConfig()) as there:
        names = {"spec": {"names": {"shortNames": ["cl", "clu"]}}}
        assert not is_observed(await there.client.patch(CRDS, key, names))
        await asyncio.sleep(10)
        crd = await there.client.get(CRDS, key)
        assert is_observed(crd)
        assert crd["metadata"]["generation"] == 2


def plane(config: ControllerConfig) -> AbstractAsyncContextManager[ManagementPlane]:
    settings = Settings(controllers=config)
    return management_plane(settings, clock=loop_clock(), random=Random(1))


def test_every_kind_has_one_manager() -> None:
    resources = [resource.group_resource for name in PROGRAMS for resource, _ in resources_of(name)]
    assert sorted(resources) == sorted(kind.type_of().RESOURCE.group_resource for kind in KINDS)


def test_kinds_of_features_that_are_off_are_left_alone() -> None:
    on = FeatureGates(cluster_topology=True, machine_pool=True, runtime_sdk=True)
    off = FeatureGates(cluster_topology=False, machine_pool=False, runtime_sdk=False)
    kinds = migrated_kinds(PROGRAMS, on).keys() - migrated_kinds(PROGRAMS, off).keys()
    assert kinds == {
        "clusterclasses.cluster.x-k8s.io",
        "extensionconfigs.runtime.cluster.x-k8s.io",
        "machinepools.cluster.x-k8s.io",
        "devmachinepools.infrastructure.cluster.x-k8s.io",
        "devmachinepooltemplates.infrastructure.cluster.x-k8s.io",
        "dockermachinepools.infrastructure.cluster.x-k8s.io",
        "dockermachinepooltemplates.infrastructure.cluster.x-k8s.io",
    }
