"""The page that streams a plane's calls to administrators as they happen."""

from __future__ import annotations

import asyncio

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.extension_config import ExtensionConfig
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.hooks.errors import HookError
from kapy.hooks.inspection import calls, line_of
from kapy.kube.errors import Forbidden
from kapy.kube.http import User
from tests.hooks.extension import Extension, Network, config
from tests.stories.test_extensions import running_with


async def test_calls_are_reported_as_they_happen_until_the_plane_ends() -> None:
    async with running_with(Network(quota=Extension())) as plane:
        looking = calls(plane.client)
        result = await looking.__aenter__()
        await plane.client.create(ExtensionConfig.RESOURCE, config("quota"))
        async with asyncio.timeout(60):
            assert line_of(await anext(result)).endswith("Z Discovery quota (0.0 ms): Success")
    assert [document async for document in result] == []
    await looking.__aexit__(None, None, None)


async def test_only_administrators_see_calls_of_hooks() -> None:
    async with running_with(Network()) as plane:
        somebody = Client(plane.server.transport(User("somebody", ("system:authenticated",))))
        with pytest.raises(Forbidden, match="/hooks/calls"):
            async with calls(somebody):
                pass


async def test_a_plane_without_hook_calls_reports_it() -> None:
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        with pytest.raises(HookError, match="whose feature gate RuntimeSDK is closed"):
            async with calls(plane.client):
                pass
