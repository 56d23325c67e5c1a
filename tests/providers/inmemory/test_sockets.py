"""Workload clusters over real sockets, with TLS and the real kubectl."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kapy._aio.clock import system_clock
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.names import NODES
from kapy.kube.pki import new_ca
from kapy.providers.inmemory import InMemoryClusters, front
from kapy.providers.inmemory.sockets import has_many_loopback_addresses
from kapy.sdk import Endpoint
from kapy.testing.provider_bench import key
from tests.locks import taking_turns
from tests.providers.inmemory.plane import (
    CLUSTERS,
    MACHINES,
    Plane,
    conditions,
    dev_cluster,
    in_memory_plane,
)
from tests.real.servers import free_port
from tests.waiting import LIMIT

pytestmark = pytest.mark.sockets

KUBECTL = shutil.which("kubectl")


@pytest.fixture(autouse=True)
def ports() -> Iterator[None]:
    """Each plane takes the first free ports of its address, which another one would take, too."""
    with taking_turns("ports"):
        yield


@asynccontextmanager
async def listening() -> AsyncIterator[Plane]:
    async with in_memory_plane(sockets=True) as plane:
        yield plane


async def test_each_cluster_answers_at_its_own_address_with_its_own_certificates() -> None:
    async with listening() as plane:
        await plane.running("blue")
        await plane.running("red")
        for name in ("blue", "red"):
            async with https(await plane.kubeconfig(name)) as client:
                (node,) = (await client.list(NODES)).items
                assert node["metadata"]["name"] == f"{name}-cp"
        stranger = new_ca("kubernetes", now=plane.bench.clock(), algorithm="ECDSA-P256")
        async with https(await plane.kubeconfig("blue", stranger)) as client:
            with pytest.raises(Unreachable):
                await client.list(NODES)


async def test_nobody_answers_before_the_api_server_runs_or_at_unused_addresses() -> None:
    async with listening() as plane:
        await plane.cluster("blue")
        access = await plane.kubeconfig("blue")
        async with https(access) as client:
            with pytest.raises(Unreachable):
                await client.list(NODES)
        if has_many_loopback_addresses():
            port = urlsplit(access.server).port
            with pytest.raises((OSError, ssl.SSLError)):
                await asyncio.open_connection("127.9.9.9", port, ssl=_unverified())


async def test_the_socket_is_not_reached_from_outside() -> None:
    async with listening() as plane:
        await plane.running("blue")
        port = urlsplit((await plane.kubeconfig("blue")).server).port
        outside = _address_of_this_machine()
        if outside is None:
            return  # a machine without a network cannot be reached through one
        with pytest.raises((OSError, ssl.SSLError)):
            await asyncio.open_connection(outside, port, ssl=_unverified())


async def test_with_a_single_loopback_address_every_cluster_has_a_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(front, "has_many_loopback_addresses", lambda: False)
    async with listening() as plane:
        await plane.running("blue")
        await plane.running("red")
        ways = {name: await plane.kubeconfig(name) for name in ("blue", "red")}
        assert len({way.server for way in ways.values()}) == 2
        for name, way in ways.items():
            assert urlsplit(way.server).hostname == "127.0.0.1"
            async with https(way) as client:
                assert (await client.get(NODES, Key("", f"{name}-cp")))["kind"] == "Node"
        for resource, name in ((MACHINES, "blue-cp"), (CLUSTERS, "blue")):
            await plane.bench.client.delete(resource, key(name))
            await plane.bench.until_gone(resource, name)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", urlsplit(ways["blue"].server).port)


async def test_in_a_pod_clusters_are_at_its_address() -> None:
    host = _address_of_this_machine() or "127.0.0.1"
    async with in_memory_plane(sockets=True, host=host) as plane:
        for name in ("blue", "red"):
            await plane.running(name)
            way = await plane.kubeconfig(name)
            assert urlsplit(way.server).hostname == host
            async with https(way) as client:
                assert (await client.get(NODES, Key("", f"{name}-cp")))["kind"] == "Node"


async def test_a_forwarded_port_of_the_pod_leads_to_its_cluster() -> None:
    """`kubectl port-forward` connects to the Pod's loopback address."""
    async with in_memory_plane(sockets=True, host="127.0.0.2") as plane:
        for name in ("blue", "red"):
            await plane.running(name)
        for name in ("blue", "red"):
            way = await plane.kubeconfig(name)
            forwarded = f"https://127.0.0.1:{urlsplit(way.server).port}"
            async with https(replace(way, server=forwarded, tls_server_name="localhost")) as client:
                assert (await client.get(NODES, Key("", f"{name}-cp")))["kind"] == "Node"
        for resource, name in ((MACHINES, "red-cp"), (CLUSTERS, "red")):
            await plane.bench.client.delete(resource, key(name))
            await plane.bench.until_gone(resource, name)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", urlsplit(way.server).port)


async def test_clusters_follow_the_address_of_the_pod() -> None:
    """A new Pod of the manager has another address: kubeconfigs and DevClusters get it."""
    async with in_memory_plane(sockets=True, host="127.0.0.2") as plane:
        first: dict[str, Kubeconfig] = {}
        for name in ("blue", "red"):
            await plane.running(name)
            first[name] = await plane.store_kubeconfig(name)
        await plane.restart(host="127.0.0.3")
        for name, before in first.items():
            document = await plane.bench.until(CLUSTERS, name, is_at("127.0.0.3"))
            port = document["spec"]["controlPlaneEndpoint"]["port"]
            assert port == urlsplit(before.server).port
            await plane.ready(f"{name}-cp")
            way = await plane.stored_kubeconfig(name)
            assert way == replace(before, server=f"https://127.0.0.3:{port}")
            async with https(way) as client:
                assert (await client.get(NODES, Key("", f"{name}-cp")))["kind"] == "Node"
        await plane.running("green")
        assert urlsplit((await plane.kubeconfig("green")).server).hostname == "127.0.0.3"


async def test_a_cluster_whose_port_is_taken_at_the_new_address_gets_another() -> None:
    async with in_memory_plane(sockets=True, host="127.0.0.2") as plane:
        await plane.running("blue")
        port = urlsplit((await plane.store_kubeconfig("blue")).server).port
        with socket.create_server(("127.0.0.3", port or 0)):
            await plane.restart(host="127.0.0.3")
            document = await plane.bench.until(CLUSTERS, "blue", is_at("127.0.0.3"))
            assert document["spec"]["controlPlaneEndpoint"]["port"] != port
            await plane.ready("blue-cp")
            async with https(await plane.stored_kubeconfig("blue")) as client:
                assert (await client.get(NODES, Key("", "blue-cp")))["kind"] == "Node"


def is_at(host: str) -> Callable[[Document], bool]:
    return lambda document: document["spec"]["controlPlaneEndpoint"]["host"] == host


async def test_a_watch_ends_when_the_cluster_is_deleted() -> None:
    async with listening() as plane:
        await plane.running("blue")
        async with https(await plane.kubeconfig("blue")) as client, client.watch(NODES) as events:
            first = await anext(aiter(events))
            assert first.document["metadata"]["name"] == "blue-cp"
            for resource, name in ((MACHINES, "blue-cp"), (CLUSTERS, "blue")):
                await plane.bench.client.delete(resource, key(name))
                await plane.bench.until_gone(resource, name)
            async with asyncio.timeout(LIMIT):
                types = [event.type async for event in events if event.type != "BOOKMARK"]
            assert types == ["DELETED"]


async def test_kubectl_reads_a_workload_cluster(tmp_path: Path) -> None:
    if KUBECTL is None:
        assert not os.environ.get("CI"), "kubectl must be on PATH where CI=true"
        pytest.skip("kubectl is not on PATH")
    async with listening() as plane:
        await plane.running("blue", workers=1)
        file = tmp_path / "kubeconfig"
        file.write_text(await plane.kubeconfig_text("blue"))
        nodes = await kubectl(file, "get", "nodes")
        assert "blue-cp" in nodes
        assert "control-plane" in nodes
        assert "v1.34.0" in nodes
        assert nodes.count("Ready") == 2
        pods = await kubectl(file, "get", "pods", "--all-namespaces")
        assert "etcd-blue-cp" in pods
        assert "kubeadm-config" in await kubectl(file, "get", "cm", "-A")


async def kubectl(kubeconfig: Path, *words: str) -> str:
    assert KUBECTL is not None
    process = await asyncio.create_subprocess_exec(
        KUBECTL,
        "--kubeconfig",
        str(kubeconfig),
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"HOME": str(kubeconfig.parent)},
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


@asynccontextmanager
async def https(access: Kubeconfig) -> AsyncIterator[Client]:
    transport = ApiTransport(access)
    try:
        yield Client(transport)
    finally:
        await transport.aclose()


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _address_of_this_machine() -> str | None:
    """An address that is not loopback, found without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


async def test_an_address_that_another_process_has_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(front, "RETRY", 0.05)
    async with listening() as plane:
        await plane.running("blue")
        here = plane.in_memory
        endpoint = Endpoint("127.7.7.7", free_port())
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("0.0.0.0", endpoint.port))
            other.listen()
            here.open(Key("default", "moved"), "uid", endpoint)
        await asyncio.sleep(0.5)
        with pytest.raises(OSError, match="in use"), socket.socket() as another:
            another.bind(("0.0.0.0", endpoint.port))


def blue_at(endpoint: Endpoint) -> Document:
    """A DevCluster that has its address already, as after a restart."""
    document = dev_cluster("blue")
    place = {"host": endpoint.host, "port": endpoint.port}
    return {**document, "spec": {**document["spec"], "controlPlaneEndpoint": place}}


@pytest.mark.skipif(not has_many_loopback_addresses(), reason="needs all of 127.0.0.0/8")
async def test_planes_that_exchange_a_port_share_it() -> None:
    """The clusters of the plane that comes later answer at their own addresses."""
    async with listening() as first, listening() as later:
        await first.running("red")
        port = urlsplit((await first.kubeconfig("red")).server).port
        assert port is not None
        await later.running("blue", infra=blue_at(Endpoint("127.77.7.7", port)))
        for plane, name in ((later, "blue"), (first, "red")):
            access = await plane.kubeconfig(name)
            assert urlsplit(access.server).port == port
            assert await node_names(access) == [f"{name}-cp"]
        for resource, name in ((MACHINES, "blue-cp"), (CLUSTERS, "blue")):
            await later.bench.client.delete(resource, key(name))
            await later.bench.until_gone(resource, name)
        with pytest.raises((OSError, ssl.SSLError)):
            await asyncio.open_connection("127.77.7.7", port, ssl=_unverified())
        assert await node_names(await first.kubeconfig("red")) == ["red-cp"]


async def node_names(access: Kubeconfig) -> list[str]:
    """The Nodes of a cluster, as soon as it is reached."""
    async with asyncio.timeout(LIMIT), https(access) as client:
        while True:
            try:
                return [node["metadata"]["name"] for node in (await client.list(NODES)).items]
            except Unreachable:
                await asyncio.sleep(0.05)


@pytest.mark.skipif(not has_many_loopback_addresses(), reason="needs all of 127.0.0.0/8")
async def test_the_address_of_a_cluster_of_another_plane_is_left_alone() -> None:
    async with listening() as first, listening() as later:
        await first.running("red")
        access = await first.kubeconfig("red")
        url = urlsplit(access.server)
        assert url.hostname is not None
        assert url.port is not None
        await later.cluster("blue", blue_at(Endpoint(url.hostname, url.port)))
        await later.bench.until(CLUSTERS, "blue", lambda item: _is_available(item) == "False")
        assert await node_names(access) == ["red-cp"]


async def test_a_lost_address_is_a_condition_until_it_is_free() -> None:
    endpoint = Endpoint("127.0.0.1", free_port())
    async with listening() as plane:
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("0.0.0.0", endpoint.port))
            other.listen()
            await plane.running("blue", infra=blue_at(endpoint))
            lost = await plane.bench.until(
                CLUSTERS, "blue", lambda item: _is_available(item) == "False"
            )
            (message,) = [
                item["message"]
                for item in lost["status"]["conditions"]
                if item["type"] == "LoadBalancerAvailable"
            ]
            assert f"another process of this machine has 127.0.0.1:{endpoint.port}" in message
            assert f"ss -ltnp 'sport = :{endpoint.port}'" in message
        await plane.bench.until(CLUSTERS, "blue", lambda item: _is_available(item) == "True")
        assert await node_names(await plane.kubeconfig("blue")) == ["blue-cp"]


def _is_available(document: Document) -> str:
    return conditions(document).get("LoadBalancerAvailable", ("", ""))[0]


def test_clusters_of_one_name_have_several_addresses() -> None:
    clusters = InMemoryClusters(clock=system_clock)
    name = key("capybara")
    hosts = {clusters.free_endpoint(name, uid, lambda _: False).host for uid in "abcd"}
    assert len(hosts) == 4
    assert clusters.free_endpoint(name, "a", lambda _: False).host in hosts
