"""A provider made with the SDK migrates the objects of its own kinds."""

from __future__ import annotations

import asyncio
from random import Random
from typing import ClassVar

from msgspec import field

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.apps.all_in_one import management_plane
from kapy.apps.components.rules import rules_of
from kapy.apps.migrated_kinds import (
    add_provider_migration,
    resources_of_provider,
    rights_to_migrate,
)
from kapy.apps.provider.components import components_of
from kapy.apps.provider.installing import install_kinds
from kapy.apps.settings import Settings
from kapy.engine.crd_migration import PHASES
from kapy.engine.crd_migration.controller import is_observed
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.http import ADMIN
from kapy.kube.meta import Object
from kapy.kube.model import Model
from kapy.kube.names import CRDS, Resource
from kapy.sdk.provider import Provider
from tests.apps.manager.test_rights import single
from tests.apps.migrating import migrated
from tests.engine.crd_migration.world import world

GROUP = "infrastructure.cluster.x-k8s.io"


class Status(Model):
    ready: bool = False


class MillMachine(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "millmachines", "MillMachine")
    status: Status = field(default_factory=Status)


class MillMachineTemplate(Object):
    RESOURCE: ClassVar[Resource] = Resource(
        GROUP, "v1", "millmachinetemplates", "MillMachineTemplate"
    )
    status: Status = field(default_factory=Status)


class MillIdentity(Object):
    RESOURCE: ClassVar[Resource] = Resource(
        GROUP, "v1", "millidentities", "MillIdentity", namespaced=False
    )


MILL = Provider(
    name="mill",
    kinds=(MillMachine, MillMachineTemplate, MillIdentity),
    add_to=lambda _: None,
    image="registry.example.com/mill",
)


def test_objects_with_a_status_are_rewritten_through_it_and_templates_as_such() -> None:
    assert [through_status for _, through_status in resources_of_provider(MILL)] == [
        True,
        False,
        False,
    ]


async def test_kinds_of_a_provider_are_migrated_with_the_migrations_permissions() -> None:
    namespaced = [resource for resource in resources_of_provider(MILL) if resource[0].namespaced]
    await migrated(namespaced, list(rights_to_migrate(namespaced)))


def test_the_release_grants_the_permissions_of_the_migration() -> None:
    granted = {
        text
        for component in components_of(MILL, "v0.1.0")
        if component["kind"] == "ClusterRole"
        and component["metadata"]["name"].endswith("-manager-role")
        for rule in component["rules"]
        for text in map(repr, single(rule))
    }
    needed = rules_of(rights_to_migrate(resources_of_provider(MILL)))
    assert {text for rule in needed for text in map(repr, single(rule))} <= granted


async def test_a_plane_migrates_the_kinds_of_its_providers() -> None:
    settings = Settings(providers=(MILL,))
    async with management_plane(settings, clock=loop_clock(), random=Random(1)) as plane:
        await asyncio.sleep(10)
        results = {
            document["metadata"]["name"]: document
            for document in (await plane.client.list(CRDS)).items
        }
        assert [name for name, document in results.items() if not is_observed(document)] == []
        assert results.keys() > {kind.RESOURCE.group_resource for kind in MILL.kinds}
        names = [controller.name for controller in plane.runtime.controllers]
        assert names.count("crdmigrator") == 1


async def test_the_providers_program_migrates_unless_disabled() -> None:
    async with world() as here:
        await install_kinds(here.client, MILL)
        for skipped, expected in ((PHASES, False), ((), True)):
            runtime = Runtime.on(here.server.transport(ADMIN), clock=loop_clock(), random=Random(1))
            add_provider_migration(runtime, MILL, skipped)
            async with run_services(runtime=runtime.run):
                await asyncio.sleep(60)
            for kind in MILL.kinds:
                crd = await here.client.get(CRDS, Key("", kind.RESOURCE.group_resource))
                assert is_observed(crd) is expected
