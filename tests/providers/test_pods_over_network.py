"""etcd and API servers of control plane machines, asked through another process's API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kapy._aio.byte_streams import Tls
from kapy.kube.errors import Unreachable
from kapy.kube.names import SECRETS
from kapy.kube.pki import LEAF_VALIDITY, new_ca
from kapy.providers.kubeadm.controlplane import pods_over_network
from kapy.providers.kubeadm.controlplane.etcd import EtcdError, EtcdGateway, EtcdUnreachable
from kapy.providers.kubeadm.controlplane.pods_over_network import PodsOverNetwork
from kapy.remote.secrets import ETCD_CA, certificate_secret
from kapy.testing.provider_bench import key
from tests.providers.inmemory.plane import Plane, in_memory_plane

CLUSTER = key("blue")


@asynccontextmanager
async def three_members() -> AsyncIterator[tuple[Plane, PodsOverNetwork]]:
    """A cluster of three control plane machines, behind sockets."""
    async with in_memory_plane(sockets=True) as plane:
        authority = new_ca("etcd-ca", now=plane.bench.clock(), algorithm="ECDSA-P256")
        secret = certificate_secret(CLUSTER, ETCD_CA, authority)
        await plane.bench.client.create(SECRETS, secret)
        await plane.running("blue")
        for name in ("blue-cp2", "blue-cp3"):
            await plane.machine("blue", name, control_plane=True)
        await plane.ready("blue-cp2", "blue-cp3")
        yield plane, PodsOverNetwork(plane.bench.runtime)


@pytest.mark.sockets
async def test_etcd_is_asked_through_the_api_server() -> None:
    async with three_members() as (plane, pods):
        access = await plane.kubeconfig("blue")
        etcd = EtcdGateway(pods.etcd(CLUSTER, access, "blue-cp"))
        members = await etcd.members()
        assert [member.name for member in members] == ["blue-cp", "blue-cp2", "blue-cp3"]
        leader = await etcd.leader()
        assert leader == members[0].id
        assert await etcd.alarms() == []
        await etcd.move_leader(members[1].id)
        assert await etcd.leader() == members[1].id
        with pytest.raises(EtcdError, match="not leader"):
            await etcd.move_leader(members[2].id)
        await etcd.remove_member(members[2].id)
        assert [member.name for member in await etcd.members()] == ["blue-cp", "blue-cp2"]
        await etcd.aclose()

        gateway = EtcdGateway(pods.etcd(CLUSTER, access, "blue-cp9"))
        with pytest.raises((EtcdError, EtcdUnreachable), match="blue-cp9"):
            await gateway.leader()
        await gateway.aclose()
        nobody = replace(access, client_certificate=b"", client_key=b"")
        stranger = EtcdGateway(pods.etcd(CLUSTER, nobody, "blue-cp"))
        with pytest.raises(EtcdUnreachable, match="forbidden"):
            await stranger.leader()
        await stranger.aclose()

        end = await pods.certificate_expiry(access, "blue-cp")
        assert abs(end - plane.bench.clock() - LEAF_VALIDITY) < timedelta(minutes=1)
        with pytest.raises(Unreachable, match="blue-cp9"):
            await pods.certificate_expiry(access, "blue-cp9")
        assert len(asyncio.all_tasks()) < 60


@pytest.mark.sockets
async def test_a_server_for_several_members_gets_the_name_of_the_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named: list[str | None] = []

    class Noted(Tls):
        def __init__(self, *arguments: Any, server_hostname: str | None = None) -> None:
            named.append(server_hostname)
            super().__init__(*arguments, server_hostname=server_hostname)

    monkeypatch.setattr(pods_over_network, "Tls", Noted)
    async with three_members() as (plane, pods):
        access = await plane.kubeconfig("blue")
        for node in ("blue-cp2", "n" * 63):
            etcd = EtcdGateway(pods.etcd(CLUSTER, access, node))
            with suppress(EtcdError, EtcdUnreachable):
                await etcd.leader()
            await etcd.aclose()
    assert named == ["etcd-blue-cp2", None]


@pytest.mark.sockets
async def test_a_client_of_another_cluster_is_refused() -> None:
    """etcd's certificates are checked on both sides."""
    async with three_members() as (plane, pods):
        access = await plane.kubeconfig("blue")
        workload = plane.in_memory.get(CLUSTER)
        assert workload is not None
        other = new_ca("etcd-ca", now=plane.bench.clock(), algorithm="ECDSA-P256")
        workload.ports.etcd_authority = other
        etcd = EtcdGateway(pods.etcd(CLUSTER, access, "blue-cp"))
        with pytest.raises(EtcdUnreachable, match="certificate"):
            await etcd.leader()
        await etcd.aclose()
