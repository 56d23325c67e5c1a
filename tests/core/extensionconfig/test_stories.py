"""ExtensionConfigs and their servers: authorities from Secrets, pauses, changes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kapy.api.cluster import Cluster
from kapy.api.extension_config import ExtensionConfig
from kapy.api.names import Annotation
from kapy.apps.all_in_one import ManagementPlane
from kapy.apps.settings import Settings
from kapy.conditions import is_true, message_of
from kapy.hooks.catalog import Catalog
from kapy.hooks.hook import Deprecation
from kapy.hooks.messages.lifecycle import BEFORE_CLUSTER_CREATE
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.http import MERGE_PATCH, Request
from kapy.kube.names import SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import Extension, Network, config
from tests.stories.plane import own_kinds
from tests.stories.test_extensions import OPEN, discovered, plane, running_with
from tests.stories.test_upgrades import CLASS


def bundle(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(**data: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tls", "namespace": "default"},
        "data": data,
    }


def injected(name: str, source: str = "default/tls") -> Document:
    document = config(name)
    document["metadata"]["annotations"] = {Annotation.INJECT_CA_FROM_SECRET: source}
    return document


async def says(story: Story, name: str, text: str) -> ExtensionConfig:
    return await story.until(
        ExtensionConfig,
        name,
        lambda value: text in message_of(value.status.conditions, "Discovered"),
        namespace="",
    )


def trusts(text: str) -> Callable[[ExtensionConfig], bool]:
    def holds(value: ExtensionConfig) -> bool:
        bundled = value.spec.client_config.ca_bundle == bundle(text)
        return bundled and is_true(value.status.conditions, "Discovered")

    return holds


async def test_an_authority_comes_from_a_secret_and_follows_it() -> None:
    extension = Extension(quota=("BeforeClusterCreate", {}))
    async with plane(ext=extension) as story:
        await story.create([injected("ext")])
        await says(story, "ext", 'failed to reconcile caBundle: failed to get secret "default/tls"')
        assert extension.asked == []
        await story.create([secret(other=bundle("x"))])
        await says(story, "ext", 'secret default/tls does not contain a "ca.crt" entry')
        for text in ("first", "second"):
            patch = {"data": {"ca.crt": bundle(text)}}
            await story.client.patch(SECRETS, Key("default", "tls"), patch)
            extension_config = await story.until(
                ExtensionConfig, "ext", trusts(text), namespace="", within=5
            )
            assert [handler.name for handler in extension_config.status.handlers] == ["quota.ext"]


async def test_a_secret_name_that_is_invalid_is_refused() -> None:
    async with plane(ext=Extension()) as story:
        await story.create([injected("ext", "tls")])
        await says(story, "ext", 'secret name "tls" must be in the form <namespace>/<name>')


async def test_a_paused_config_is_left_alone() -> None:
    extension = Extension()
    async with plane(ext=extension) as story:
        paused = config("ext")
        paused["metadata"]["annotations"] = {Annotation.PAUSED: ""}
        await story.create([paused])
        await story.until(
            ExtensionConfig,
            "ext",
            lambda value: is_true(value.status.conditions, "Paused"),
            namespace="",
        )
        await asyncio.sleep(60)
        assert extension.asked == []
        unpaused = {"metadata": {"annotations": {Annotation.PAUSED: None}}}
        await story.merge(ExtensionConfig, "ext", unpaused, namespace="")
        await discovered(story, "ext")


async def test_handlers_are_those_of_the_last_successful_discovery() -> None:
    """A change is discovered at once, and nothing is asked while nothing changes."""
    extension = Extension(first=("BeforeClusterCreate", {}))
    async with plane(ext=extension) as story:
        await story.create([config("ext")])
        await discovered(story, "ext")
        await asyncio.sleep(300)
        assert len(extension.asked) == 1
        extension.handlers = {"second": ("BeforeClusterDelete", {})}
        changed = {"spec": {"settings": {"a": "b"}}}
        await story.merge(ExtensionConfig, "ext", changed, namespace="")
        extension_config = await story.until(
            ExtensionConfig,
            "ext",
            lambda value: [handler.name for handler in value.status.handlers] == ["second.ext"],
            namespace="",
        )
        extension.down = "EOF"
        changed = {"spec": {"settings": {"a": "c"}}}
        await story.merge(ExtensionConfig, "ext", changed, namespace="")
        extension_config = await says(story, "ext", "EOF")
        assert [handler.name for handler in extension_config.status.handlers] == ["second.ext"]


async def test_an_unresponsive_extension_does_not_delay_the_others() -> None:
    hanging, good = Extension(), Extension(quota=("BeforeClusterCreate", {}))
    hanging.delay = 100.0
    async with plane(a=hanging, b=hanging, c=hanging, good=good) as story:
        began = asyncio.get_running_loop().time()
        await story.create([config("a"), config("b"), config("c"), config("good")])
        await discovered(story, "good")
        assert asyncio.get_running_loop().time() - began < 1
        await says(story, "c", "no answer within 10s")


GOING = Deprecation("v1beta1", "v1.15", "2026-11-30", "v1.17", "2027-11-30")


@pytest.fixture
def going(monkeypatch: pytest.MonkeyPatch) -> None:
    """BeforeClusterCreate is deprecated."""
    catalog = Catalog([replace(BEFORE_CLUSTER_CREATE, deprecation=GOING)])
    modules = ("hooks.catalog", "apps.extensions", "apps.extensions.deprecations")
    for module in modules:
        monkeypatch.setattr(f"kapy.{module}.full_catalog", lambda: catalog)


WARNED = "handler quota.ext answers BeforeClusterCreate"


async def created(plane: ManagementPlane, document: Document) -> str:
    """Create an ExtensionConfig and return the warning in the server's response."""
    path = ExtensionConfig.RESOURCE.path("")
    reply = await plane.client.transport(Request("POST", path, body=document))
    assert reply.status == 201
    return reply.headers.get("warning", "")


@pytest.mark.usefixtures("going")
async def test_writing_a_config_of_deprecated_hooks_causes_a_warning() -> None:
    """Already when it is created, and at each later write; with the authority of its Secret."""
    extension = Extension(quota=("BeforeClusterCreate", {}))
    async with running_with(Network(ext=extension)) as result:
        story = Story(result.client, [ExtensionConfig.RESOURCE, SECRETS])
        await story.create([secret(**{"ca.crt": bundle("ours")})])
        assert WARNED in await created(result, injected("ext"))
        assert extension.trusted[0] == bundle("ours")
        config_ = await discovered(story, "ext")
        assert WARNED in message_of(config_.status.conditions, "HookVersionsUpToDate")
        path = ExtensionConfig.RESOURCE.path("", "ext")
        patch = {"spec": {"settings": {"a": "b"}}}
        headers = {"content-type": MERGE_PATCH}
        number = len(extension.asked)
        request = Request("PATCH", path, headers=headers, body=patch)
        reply = await result.client.transport(request)
        assert WARNED in reply.headers["warning"]
        assert len(extension.asked) == number, "what it answers is known"


@pytest.mark.usefixtures("going")
async def test_creating_a_config_waits_two_seconds_at_most_for_the_extension() -> None:
    """And holds up nobody else; the condition tells it when the extension answers."""
    extension = Extension(quota=("BeforeClusterCreate", {}))
    extension.delay = 100.0
    now = asyncio.get_running_loop().time
    async with running_with(Network(ext=extension)) as result, asyncio.TaskGroup() as group:
        story = Story(result.client, [ExtensionConfig.RESOURCE, SECRETS])
        began = now()
        creation = group.create_task(created(result, config("ext")))
        await asyncio.sleep(0.5)
        await story.create([secret(other=bundle("x"))])
        assert now() - began < 1
        assert await creation == ""
        assert now() - began == pytest.approx(2, abs=0.1)
        extension.delay = 0.0
        config_ = await discovered(story, "ext")
        assert WARNED in message_of(config_.status.conditions, "HookVersionsUpToDate")


async def test_a_disabled_feature_gate_registers_and_calls_no_extension(
    tmp_path: Path,
) -> None:
    """Not even those that were registered while it was open."""
    extension = Extension(quota=("BeforeClusterCreate", {"status": "Failure"}))
    network = Network(ext=extension)
    async with running_with(network, replace(OPEN, data=tmp_path)) as result:
        story = Story(result.client, [ExtensionConfig.RESOURCE])
        await story.create([config("ext")])
        await discovered(story, "ext")
    extension.asked.clear()
    async with running_with(network, Settings(data=tmp_path)) as result:
        story = Story(result.client, own_kinds())
        with pytest.raises(ApiError, match="if the RuntimeSDK feature flag is enabled"):
            await story.create([config("more")])
        await story.create(CLASS)
        await story.until(
            Cluster, "herd", lambda cluster: cluster.spec.infrastructure_ref is not None
        )
    assert extension.asked == []
