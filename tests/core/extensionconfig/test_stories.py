"""ExtensionConfigs and their servers: authorities from Secrets, pauses, changes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable

from kapy.api.extension_config import ExtensionConfig
from kapy.api.names import Annotation
from kapy.conditions import is_true, message_of
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import Extension, config
from tests.stories.test_extensions import discovered, plane


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
        lambda one: text in message_of(one.status.conditions, "Discovered"),
        namespace="",
    )


def trusts(text: str) -> Callable[[ExtensionConfig], bool]:
    def holds(found: ExtensionConfig) -> bool:
        bundled = found.spec.client_config.ca_bundle == bundle(text)
        return bundled and is_true(found.status.conditions, "Discovered")

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
            found = await story.until(ExtensionConfig, "ext", trusts(text), namespace="", within=5)
            assert [one.name for one in found.status.handlers] == ["quota.ext"]


async def test_a_name_that_is_no_secret() -> None:
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
            lambda one: is_true(one.status.conditions, "Paused"),
            namespace="",
        )
        await asyncio.sleep(60)
        assert extension.asked == []
        unpaused = {"metadata": {"annotations": {Annotation.PAUSED: None}}}
        await story.merge(ExtensionConfig, "ext", unpaused, namespace="")
        await discovered(story, "ext")


async def test_handlers_are_those_of_the_last_good_answer() -> None:
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
        found = await story.until(
            ExtensionConfig,
            "ext",
            lambda one: [handler.name for handler in one.status.handlers] == ["second.ext"],
            namespace="",
        )
        extension.down = "EOF"
        changed = {"spec": {"settings": {"a": "c"}}}
        await story.merge(ExtensionConfig, "ext", changed, namespace="")
        found = await says(story, "ext", "EOF")
        assert [one.name for one in found.status.handlers] == ["second.ext"]
