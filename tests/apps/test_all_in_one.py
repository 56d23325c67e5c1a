"""A plane in one process, seen from its API."""

from __future__ import annotations

import asyncio

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.dev_cluster import DevCluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.apps.all_in_one import management_plane
from kapy.apps.manifests import apply_manifests, sample
from kapy.apps.settings import ControllerConfig, ManagerName, Settings
from kapy.kube.http import ANONYMOUS, Request

KINDS = (Cluster, DevCluster, KubeadmControlPlane)


async def test_the_plane_serves_the_metrics_of_its_controllers() -> None:
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        reply = await plane.transport(Request("GET", "/metrics"))
        refused = await plane.server.transport(ANONYMOUS)(Request("GET", "/metrics"))
    assert reply.status == 200
    assert isinstance(reply.body, bytes)
    assert b'controller_runtime_max_concurrent_reconciles{controller="machine"}' in reply.body
    assert refused.status == 403


@pytest.mark.parametrize(
    ("left_out", "looked_at"),
    [
        ("core", set()),  # all others wait for it
        ("infrastructure-dev", {"Cluster", "KubeadmControlPlane"}),
        ("control-plane-kubeadm", {"Cluster", "DevCluster"}),
    ],
)
async def test_a_plane_without_a_manager_leaves_its_kinds_alone(
    left_out: ManagerName, looked_at: set[str]
) -> None:
    settings = Settings(controllers=ControllerConfig(disabled_managers=frozenset({left_out})))
    async with management_plane(settings, clock=loop_clock()) as plane:
        await apply_manifests(plane.client, sample())
        await asyncio.sleep(600)
        objects = [(await plane.client.list(kind.RESOURCE)).items[0] for kind in KINDS]
    assert {obj["kind"] for obj in objects if obj["metadata"].get("finalizers")} == looked_at
