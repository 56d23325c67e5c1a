"""A plane in one process, seen from its API."""

from __future__ import annotations

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.kube.http import ANONYMOUS, Request


async def test_the_metrics_of_the_controllers_are_a_page_of_the_plane() -> None:
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        reply = await plane.transport(Request("GET", "/metrics"))
        refused = await plane.server.transport(ANONYMOUS)(Request("GET", "/metrics"))
    assert reply.status == 200
    assert isinstance(reply.body, bytes)
    assert b'controller_runtime_max_concurrent_reconciles{controller="machine"}' in reply.body
    assert refused.status == 403
