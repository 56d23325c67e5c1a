"""Access to an in-process workload cluster: it refuses credentials that TLS would refuse."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kapy.client.client import Client
from kapy.kube.errors import Forbidden, Unauthorized, Unreachable
from kapy.kube.names import NODES
from kapy.kube.pki import issue, new_ca
from kapy.providers.inmemory.credentials import user_of
from tests.providers.inmemory.plane import Plane, in_memory_plane


async def test_the_administrator_is_known_by_the_certificate() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        access = await plane.kubeconfig("blue")
        user = user_of(access, plane.authority, plane.bench.clock())
        assert user.name == "kubernetes-admin"
        assert set(user.groups) == {"system:masters", "system:authenticated"}
        assert (await (await plane.workload("blue")).list(NODES)).items


async def test_a_certificate_of_another_ca_is_refused() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        other = new_ca("kubernetes", now=plane.bench.clock(), algorithm="ECDSA-P256")
        mine, theirs = await plane.kubeconfig("blue"), await plane.kubeconfig("blue", other)
        for access in (
            theirs,
            replace(theirs, certificate_authority=mine.certificate_authority),
            replace(mine, certificate_authority=theirs.certificate_authority),
            replace(mine, client_key=theirs.client_key),
        ):
            with pytest.raises(Unreachable):
                plane.in_memory.dial(access)


async def test_an_old_certificate_is_refused() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        access = await plane.kubeconfig("blue")
        later = plane.bench.clock() + timedelta(days=400)
        with pytest.raises(Unauthorized):
            user_of(access, plane.authority, later)


async def test_only_administrators_may_read() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        access = await plane.kubeconfig("blue")
        nobody = issue(plane.authority, "somebody", now=plane.bench.clock(), algorithm="ECDSA-P256")
        for way in (
            replace(access, client_certificate=nobody.certificate, client_key=nobody.key),
            replace(access, client_certificate=b"", client_key=b""),
        ):
            with pytest.raises(Forbidden):
                await _client(plane, way).list(NODES)


async def test_a_server_that_is_nobodys_is_not_reached() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        access = replace(await plane.kubeconfig("blue"), server="https://127.0.0.1:1")
        with pytest.raises(Unreachable, match="nobody answers"):
            plane.in_memory.dial(access)


def _client(plane: Plane, access: object) -> Client:
    from kapy.remote.cluster_cache import Kubeconfig

    assert isinstance(access, Kubeconfig)
    return Client(plane.in_memory.dial(access))
