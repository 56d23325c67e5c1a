"""Extensions as processes beside a plane: registered, started again when they die, ended."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from kapy._aio.clock import system_clock
from kapy.api.extension_config import ExtensionConfig
from kapy.apps.all_in_one import management_plane
from kapy.apps.extension_server.configured_extensions import parse_extension
from kapy.apps.extension_server.process import DidNotStart, run_extensions
from kapy.hooks import BEFORE_CLUSTER_CREATE, BeforeClusterCreateRequest
from kapy.hooks.call import handler_url
from kapy.hooks.https import HttpsTransport
from kapy.hooks.transport import NoAnswer
from kapy.testing.story import Story
from tests.stories.test_extensions import OPEN

MORTAL = """
import os
from kapy.hooks import BEFORE_CLUSTER_CREATE, BeforeClusterCreateRequest, Extension, RetryResponse
extension = Extension()
print("what a module prints is none of the plane's business")

@extension.handles(BEFORE_CLUSTER_CREATE, name="mortal")
async def mortal(request: BeforeClusterCreateRequest) -> RetryResponse:
    if request.cluster:
        os._exit(7)
    return RetryResponse()
"""


async def answer(config: ExtensionConfig, request: BeforeClusterCreateRequest) -> int:
    """Ask the handler; the status code. Raises NoAnswer."""
    post, client = HttpsTransport(), config.spec.client_config
    try:
        url = handler_url(client, BEFORE_CLUSTER_CREATE, "mortal")
        return (await post(client, url, BEFORE_CLUSTER_CREATE.encode_request(request))).code
    finally:
        await post.aclose()


@pytest.mark.sockets
async def test_a_dead_extension_is_restarted_and_all_end_with_the_plane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mortal_extension.py").write_text(MORTAL)
    (tmp_path / "broken_extension.py").write_text("import no_such_library")
    monkeypatch.chdir(tmp_path)
    deadly = BeforeClusterCreateRequest(cluster={"metadata": {"name": "herd"}})
    harmless = BeforeClusterCreateRequest(cluster={})
    async with management_plane(OPEN, clock=system_clock, random=Random(0)) as plane:
        story = Story(plane.client, [ExtensionConfig.RESOURCE])
        extensions = [
            parse_extension("mortal=mortal_extension"),
            parse_extension("https://far.example.com"),
        ]
        async with run_extensions(plane.client, extensions, tmp_path / "kept", Random(0)):
            first, far = [
                extension_config
                for name in ("mortal", "far-example-com")
                if (extension_config := await story.get(ExtensionConfig, name, "")) is not None
            ]
            assert far.spec.client_config.url == "https://far.example.com"
            assert await answer(first, harmless) == 200
            with pytest.raises(NoAnswer):
                await answer(first, deadly)
            again = await story.until(
                ExtensionConfig,
                "mortal",
                lambda config: config.spec.client_config.url != first.spec.client_config.url,
                namespace="",
                within=30,
            )
            assert again.spec.client_config.ca_bundle == first.spec.client_config.ca_bundle
            assert await answer(again, harmless) == 200
        with pytest.raises(NoAnswer):
            await answer(again, harmless)
        with pytest.raises(DidNotStart, match=r"broken-extension .* ended with code 1"):
            async with run_extensions(
                plane.client, [parse_extension("broken_extension")], tmp_path, Random(0)
            ):
                pass
