"""Tests of the metrics of clusters that the alert rules read."""

from __future__ import annotations

import asyncio

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.apps.all_in_one import management_plane
from kapy.apps.manifests import apply_manifests, sample
from kapy.apps.settings import Settings
from kapy.kube import Key
from kapy.testing import on_virtual_time


@on_virtual_time
async def test_waits_members_and_certificates_are_reported() -> None:
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        await apply_manifests(plane.client, sample())
        await asyncio.sleep(120)
        ready = plane.runtime.metrics.text().decode()
        patch = {"spec": {"paused": True}}
        await plane.client.patch(Cluster, Key("default", "capybara"), patch)
        await asyncio.sleep(10)
        paused = plane.runtime.metrics.text().decode()
    waiting = (
        'kapy_cluster_waiting_since_seconds{cluster_name="capybara",cluster_namespace="default"'
    )
    assert waiting not in ready
    assert f'{waiting},reason="Paused"}}' in paused
    (member,) = [
        line for line in ready.splitlines() if line.startswith("kapy_etcd_member_healthy{")
    ]
    assert 'cluster_name="capybara"' in member
    assert member.endswith(" 1.0")
    assert "\nkapy_machine_certificates_expiry_seconds{" in ready
