"""Clusters of a ClusterClass, and extensions that are asked about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.extension_config import ExtensionConfig
from kapy.api.names import Annotation
from kapy.apps.all_in_one import Plane, management_plane
from kapy.apps.settings import EMBEDDED_GATES, Controlling, Settings
from kapy.conditions import is_true, message_of
from kapy.engine.options import ManagerOptions
from kapy.kube import Key
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import Extension, Network, config, waits
from tests.stories.plane import own_kinds
from tests.stories.test_upgrades import CLASS, MIDDLE, NEW, OLD, RECONCILED, upgrade

OPEN = Settings(
    controlling=Controlling(manager=ManagerOptions(gates=replace(EMBEDDED_GATES, runtime_sdk=True)))
)
LIFE = (
    "BeforeClusterCreate",
    "AfterControlPlaneInitialized",
    "BeforeClusterUpgrade",
    "BeforeControlPlaneUpgrade",
    "AfterControlPlaneUpgrade",
    "BeforeWorkersUpgrade",
    "AfterWorkersUpgrade",
    "AfterClusterUpgrade",
    "BeforeClusterDelete",
)


@asynccontextmanager
async def running_with(network: Network) -> AsyncIterator[Plane]:
    """A plane with the RuntimeSDK gate open, and extensions that can be reached."""
    clock = loop_clock()
    async with management_plane(OPEN, clock=clock, random=Random(0), post=network) as found:
        yield found


@asynccontextmanager
async def plane(**extensions: Extension) -> AsyncIterator[Story]:
    """A person on such a plane."""
    async with running_with(Network(**extensions)) as found:
        yield Story(found.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])


async def discovered(story: Story, name: str) -> ExtensionConfig:
    return await story.until(
        ExtensionConfig,
        name,
        lambda one: is_true(one.status.conditions, "Discovered"),
        namespace="",
    )


async def available(story: Story) -> Cluster:
    return await story.until(
        Cluster, "herd", lambda one: is_true(one.status.conditions, "Available")
    )


async def test_a_clusters_life() -> None:
    """Who is asked, in which order, when everybody says "not yet" once; and what they are told."""
    lasting = Extension(**{hook.lower(): (hook, waits(1)) for hook in LIFE})
    async with plane(ext=lasting) as story:
        await story.create([config("ext", settings={"who": "herders"})])
        await discovered(story, "ext")
        await story.create(CLASS)
        await available(story)
        assert lasting.calls() == [
            *("beforeclustercreate", "beforeclustercreate"),
            "aftercontrolplaneinitialized",
        ]
        lasting.asked.clear()
        await upgrade(story, NEW)
        await story.until(
            Cluster,
            "herd",
            lambda one: (
                is_true(one.status.conditions, RECONCILED)
                and not one.metadata.annotations.get(Annotation.PENDING_HOOKS)
                and "afterclusterupgrade" in lasting.calls()
            ),
        )
        steps = [
            (
                one.handler,
                one.request.get("toKubernetesVersion") or one.request["kubernetesVersion"],
            )
            for one in lasting.asked
        ]
        assert steps == [
            *[("beforeclusterupgrade", NEW)] * 2,
            *[("beforecontrolplaneupgrade", MIDDLE)] * 2,
            *[("aftercontrolplaneupgrade", MIDDLE)] * 2,
            ("beforecontrolplaneupgrade", NEW),
            ("aftercontrolplaneupgrade", NEW),
            *[("beforeworkersupgrade", NEW)] * 2,
            *[("afterworkersupgrade", NEW)] * 2,
            *[("afterclusterupgrade", NEW)] * 2,
        ]
        first = lasting.asked[0].request
        assert first["settings"] == {"who": "herders"}
        assert first["fromKubernetesVersion"] == OLD
        assert first["controlPlaneUpgrades"] == [{"version": MIDDLE}, {"version": NEW}]
        assert first["cluster"]["kind"] == "Cluster"
        assert "status" not in first["cluster"]
        lasting.asked.clear()
        await story.client.delete(Cluster, Key("default", "herd"))
        await story.until_gone(Cluster, "herd")
        assert lasting.calls() == ["beforeclusterdelete"] * 2


async def test_an_extension_that_is_taken_away_holds_nothing_any_more() -> None:
    quota = Extension(quota=("BeforeClusterCreate", waits(1000, 3600, "no room")))
    async with plane(quota=quota) as story:
        await story.create([config("quota")])
        await discovered(story, "quota")
        await story.create(CLASS)
        held = "blocking Cluster topology creation: BeforeClusterCreate: no room"
        await story.until(
            Cluster, "herd", lambda one: held in message_of(one.status.conditions, RECONCILED)
        )
        began = asyncio.get_running_loop().time()
        await story.client.delete(ExtensionConfig, Key("", "quota"))
        await available(story)
        assert asyncio.get_running_loop().time() - began < 60
        assert quota.calls() == ["quota"]
