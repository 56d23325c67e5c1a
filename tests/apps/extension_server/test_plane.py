"""Extensions in Python behind real TLS sockets, and a plane that calls them: one that holds for a
moment, one that refuses, one that is dead, and one that nobody trusts."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.extension_config import ExtensionConfig
from kapy.apps.all_in_one import management_plane
from kapy.apps.extension_server.serving import serve_extension
from kapy.apps.https.certificate import certificate_in
from kapy.conditions import is_true, message_of
from kapy.hooks import (
    AFTER_CONTROL_PLANE_INITIALIZED,
    BEFORE_CLUSTER_CREATE,
    BEFORE_CLUSTER_DELETE,
    AfterControlPlaneInitializedRequest,
    Application,
    BeforeClusterCreateRequest,
    BeforeClusterDeleteRequest,
    Extension,
    HookFailed,
    RetryResponse,
)
from kapy.hooks.messages.message import Response
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import config
from tests.stories.plane import own_kinds
from tests.stories.test_extensions import OPEN
from tests.stories.test_upgrades import CLASS, RECONCILED
from tests.waiting import LIMIT

pytestmark = pytest.mark.sockets
WITHIN = LIMIT


class Herders:
    """Handlers that remember what they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.backed_up = False
        self.extension = Extension()
        self.extension.handles(BEFORE_CLUSTER_CREATE, name="quota")(self.quota)
        self.extension.handles(AFTER_CONTROL_PLANE_INITIALIZED, name="bell")(self.bell)
        self.extension.handles(BEFORE_CLUSTER_DELETE, name="backup")(self.backup)

    async def quota(self, request: BeforeClusterCreateRequest) -> RetryResponse:
        self.asked.append(f"create {request.cluster['metadata']['name']}")
        return RetryResponse() if len(self.asked) > 1 else RetryResponse.wait(1, "no room yet")

    async def bell(self, request: AfterControlPlaneInitializedRequest) -> Response:
        self.asked.append(f"there is {request.cluster['metadata']['name']}")
        return Response()

    async def backup(self, request: BeforeClusterDeleteRequest) -> RetryResponse:
        if not self.backed_up:
            raise HookFailed(f"{request.cluster['metadata']['name']} has no backup")
        return RetryResponse()


@asynccontextmanager
async def served(extension: Extension, folder: Path) -> AsyncIterator[Document]:
    """A server of an extension; the `clientConfig` that leads to it."""
    certificate = await certificate_in(folder, ["127.0.0.1"], system_clock)
    async with serve_extension(Application(extension), certificate) as (host, port):
        bundle = base64.b64encode(certificate.ca).decode()
        yield {"url": f"https://{host}:{port}", "caBundle": bundle}


async def says(story: Story, name: str, text: str) -> None:
    await story.until(
        ExtensionConfig,
        name,
        lambda value: text in message_of(value.status.conditions, "Discovered"),
        namespace="",
        within=WITHIN,
    )


async def test_a_plane_calls_its_extensions(tmp_path_factory: pytest.TempPathFactory) -> None:
    herders, folder = Herders(), tmp_path_factory.mktemp
    async with AsyncExitStack() as stack:
        good = await stack.enter_async_context(served(herders.extension, folder("good")))
        other = await stack.enter_async_context(served(Extension(), folder("other")))
        plane = await stack.enter_async_context(
            management_plane(OPEN, clock=system_clock, random=Random(0))
        )
        story = Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create(
            [
                config("herders", clientConfig=good),
                config("dead", clientConfig={**good, "url": "https://127.0.0.1:1"}),
                config("stranger", clientConfig={**other, "caBundle": good["caBundle"]}),
            ]
        )
        await story.until(
            ExtensionConfig,
            "herders",
            lambda value: is_true(value.status.conditions, "Discovered"),
            namespace="",
            within=WITHIN,
        )
        await says(story, "dead", "dial tcp 127.0.0.1:1: connect: connection refused")
        await says(story, "stranger", "certificate signed by unknown authority")
        await story.create(CLASS.replace("startupDuration: 2s", "startupDuration: 0s"))
        await story.until(
            Cluster,
            "herd",
            lambda cluster: is_true(cluster.status.conditions, "Available"),
            within=WITHIN,
        )
        assert herders.asked == ["create herd", "create herd", "there is herd"]
        await story.client.delete(Cluster, Key("default", "herd"))
        refused = 'handler "backup.herders": got failure response with message: herd has no backup'
        await story.until(
            Cluster,
            "herd",
            lambda cluster: refused in message_of(cluster.status.conditions, RECONCILED),
            within=WITHIN,
        )
        herders.backed_up = True
        await asyncio.wait_for(story.until_gone(Cluster, "herd"), WITHIN)
