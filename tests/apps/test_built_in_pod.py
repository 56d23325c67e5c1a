"""The pod of the plane's infrastructure manager: ports of clusters in memory, forwarded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kapy._aio.byte_streams import ByteStream
from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.built_in import POD, ManagerPod
from kapy.apps.settings import ControllerConfig, Serving, Settings
from kapy.kube import Key
from kapy.kube.errors import ApiError
from kapy.kube.names import DEPLOYMENTS, PODS
from kapy.providers.inmemory import InMemoryClusters
from kapy.remote.port_forward import port_forward
from kapy.sdk import Endpoint

pytestmark = pytest.mark.sockets
MUCH = bytes(range(256)) * 4096


@asynccontextmanager
async def served(
    folder: Path, controlling: ControllerConfig | None = None, *, api_processes: int = 0
) -> AsyncIterator[ManagementPlane]:
    settings = Settings(
        serving=Serving(port=0, pki=folder / "pki"),
        inventory=True,
        controllers=controlling or ControllerConfig(),
        api_processes=api_processes,
    )
    async with management_plane(settings, clock=system_clock) as plane:
        yield plane


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """A port that says everything again."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def said(stream: ByteStream, length: int) -> bytes:
    content = b""
    while len(content) < length and (data := await stream.read()):
        content += data
    return content


@pytest.mark.parametrize("api_processes", [0, 1])
async def test_a_port_of_the_pod_is_the_port_of_a_cluster(
    tmp_path: Path, api_processes: int
) -> None:
    async with served(tmp_path, api_processes=api_processes) as plane, echo() as port:
        assert plane.kubeconfig is not None
        clusters = InMemoryClusters(clock=system_clock)
        clusters.open(Key("default", "blue"), "blue", Endpoint("127.0.0.1", port))
        plane.server.kubelet_requests = ManagerPod(clusters)
        async with asyncio.timeout(60), port_forward(plane.kubeconfig, *POD) as ports:
            stream = ports.stream(port)
            stream.write(MUCH)
            assert await said(stream, len(MUCH)) == MUCH
            with pytest.raises(OSError, match="no workload cluster in memory listens on port 1"):
                await ports.stream(1).read()
            clusters.open(Key("default", "red"), "red", Endpoint("127.0.0.2", port))
            with pytest.raises(OSError, match=f"2 workload clusters share port {port}.*POD_IP"):
                await ports.stream(port).read()
        with pytest.raises(ApiError, match="nothing runs them"):
            async with port_forward(plane.kubeconfig, POD.namespace, "other"):
                pass


async def test_the_pod_is_that_of_the_managers_deployment(tmp_path: Path) -> None:
    async with served(tmp_path) as plane:
        assert isinstance(plane.server.kubelet_requests, ManagerPod)
        pod = await plane.client.get(PODS, POD)
        (deployment,) = (await plane.client.list(DEPLOYMENTS, POD.namespace)).items
    selected = deployment["spec"]["selector"]["matchLabels"]
    assert pod["metadata"]["labels"].items() >= selected.items()
    assert pod["status"]["phase"] == "Running"


async def test_a_manager_elsewhere_has_no_pod_here(tmp_path: Path) -> None:
    without = ControllerConfig(disabled_managers=frozenset(["infrastructure-dev"]))
    async with served(tmp_path, without) as plane:
        assert plane.server.kubelet_requests is None
        assert (await plane.client.list(PODS)).items == []
