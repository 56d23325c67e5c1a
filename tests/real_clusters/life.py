"""A real cluster and the plane that looks after it: what the chapters of its life share."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from kapy._aio.clock import system_clock
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Label
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig, parse
from kapy.containers import Engine
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.names import CONFIG_MAPS, NODES, PODS, SECRETS, Resource
from kapy.testing.story import Story
from tests.real_clusters.engine import container_engine
from tests.real_clusters.parts import tell

T = TypeVar("T")

CLUSTER: Final = Key("default", "real")
WORKERS: Final = "workers"
ROLE: Final = "role"
"""The label of workers."""
PATIENCE: Final = 900.0
"""Seconds for a step on a busy machine; each ends with what it waits for."""
STEP: Final = 0.5
_KINDS: Final = (*(kind.type_of().RESOURCE for kind in KINDS), CONFIG_MAPS)


class Life:
    """One cluster, and whoever looks after it. client: of the management plane of the moment."""

    def __init__(self, client: Client, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.client = client
        self._workload: tuple[str, ApiTransport] | None = None
        self._begun = time.monotonic()

    @property
    def story(self) -> Story:
        """The management plane of the moment, to act on."""
        return Story(self.client, _KINDS)

    def done(self, step: str) -> None:
        """Say how long a step took."""
        now = time.monotonic()
        tell(f"{step}: {now - self._begun:.0f} s")
        self._begun = now

    async def close(self) -> None:
        """End the connection to the workload cluster."""
        if self._workload is not None:
            await self._workload[1].aclose()
            self._workload = None

    # The management plane

    async def until(self, kind: type[Any], name: str, holds: Any) -> Any:
        """Wait for a state of an object of the plane."""
        return await self.story.until(kind, name, holds, within=PATIENCE)

    async def machines(self, label: str = "") -> list[Machine]:
        """The Machines with a label ("" for all), in order of their names."""
        results = await self.story.all(Machine)
        labelled = [machine for machine in results if not label or label in machine.metadata.labels]
        return sorted(labelled, key=lambda machine: machine.metadata.name)

    async def control_plane_is(self, replicas: int) -> KubeadmControlPlane:
        """Wait until exactly that many Machines of the control plane serve, as they should be."""

        def holds(value: KubeadmControlPlane) -> bool:
            status = value.status
            counts = {status.replicas, status.available_replicas, status.up_to_date_replicas}
            return counts == {replicas} and status.observed_generation == value.metadata.generation

        kubeadm_control_plane = await self.until(KubeadmControlPlane, "real", holds)
        assert isinstance(kubeadm_control_plane, KubeadmControlPlane)
        return kubeadm_control_plane

    async def scale_control_plane(self, replicas: int) -> None:
        """Scale the control plane, and wait until exactly that many serve."""
        await self.story.merge(KubeadmControlPlane, "real", {"spec": {"replicas": replicas}})
        await self.control_plane_is(replicas)

    async def workers_are(self, replicas: int) -> None:
        """Wait until exactly that many workers are available, as they should be.

        Their Machines are asked, too: the counters of a MachineDeployment follow them.
        """

        async def look() -> MachineDeployment | None:
            machine_deployment = await self.story.get(MachineDeployment, WORKERS)
            assert machine_deployment is not None
            machines = await self.machines(ROLE)
            versions = {machine.spec.version for machine in machines if not machine.deleting}
            counts = {
                machine_deployment.status.replicas,
                machine_deployment.status.available_replicas,
                len(machines),
            }
            is_all = counts == {replicas} and versions == {
                machine_deployment.spec.template.spec.version
            }
            return machine_deployment if is_all else None

        await eventually(look, lambda: f"there are not {replicas} workers")

    async def scale_workers(self, replicas: int) -> None:
        """Scale the workers, and wait until exactly that many are available."""
        await self.resize_workers(replicas)
        await self.workers_are(replicas)

    async def resize_workers(self, replicas: int) -> None:
        """Ask for another number of workers."""
        await self.story.merge(MachineDeployment, WORKERS, {"spec": {"replicas": replicas}})

    # The workload cluster

    async def workload(self) -> Client:
        """A client of the workload cluster, by its kubeconfig Secret."""
        _, access = await self.kubeconfig()
        if self._workload is None or self._workload[0] != repr(access):
            await self.close()
            self._workload = repr(access), ApiTransport(access)
        return Client(self._workload[1], field_manager="a-user")

    async def kubeconfig(self) -> tuple[bytes, Kubeconfig]:
        """The workload cluster's kubeconfig, and what it says."""
        secret = await self.client.get(SECRETS, Key("default", "real-kubeconfig"))
        text = b64decode(secret["data"]["value"])
        return text, parse(text)

    async def nodes(self) -> list[Document]:
        """The Nodes of the workload cluster."""
        return list((await (await self.workload()).list(NODES)).items)

    async def in_cluster(
        self, resource: Resource, key: Key, holds: Callable[[Document], Any]
    ) -> Document:
        """Wait for a state of an object of the workload cluster."""
        client = await self.workload()
        last: Any = None

        async def look() -> Document | None:
            nonlocal last
            try:
                last = await client.get(resource, key)
            except KapyError as error:
                last = error
                return None
            return last if holds(last) else None

        return await eventually(look, lambda: f"{resource.kind} {key} is {last}")

    async def pod_runs(self, name: str) -> Document:
        """Make a Pod, and wait until it runs."""
        from tests.real_clusters.images import PAUSE_IMAGE

        spec = {"containers": [{"name": "pause", "image": PAUSE_IMAGE}]}
        metadata = {"name": name, "namespace": "default"}
        pod: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        client = await self.workload()

        async def make() -> Document | None:
            try:
                return await client.create(PODS, pod)
            except Unreachable:  # a load balancer that was just started
                return None

        await eventually(make, lambda: f"Pod {name} cannot be made")
        return await self.in_cluster(
            PODS,
            Key("default", name),
            lambda document: (document.get("status") or {}).get("phase") == "Running",
        )

    def node_of(self, machine: Machine) -> str:
        """The name of a Machine's Node, which is that of its container."""
        assert machine.status.node_ref is not None
        return str(machine.status.node_ref.name)

    async def control_plane(self) -> list[Machine]:
        """The Machines of the control plane."""
        return await self.machines(Label.CONTROL_PLANE)


async def eventually(look: Callable[[], Awaitable[T | None]], said: Callable[[], str]) -> T:
    """Return the first result of `look` that is not None. said: the message if there is none."""
    deadline = time.monotonic() + PATIENCE
    while True:
        result = await look()
        if result is not None:
            return result
        assert time.monotonic() < deadline, said()
        await asyncio.sleep(STEP)


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """While something else runs."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()


@asynccontextmanager
async def plane() -> AsyncIterator[ManagementPlane]:
    """A management plane in this process, which serves its network."""
    settings = Settings(serving=Serving(), inventory=True)
    async with management_plane(settings, clock=system_clock) as result:
        yield result


@asynccontextmanager
async def living(folder: Path, monkeypatch: Any) -> AsyncIterator[tuple[Life, ManagementPlane]]:
    """An engine, a plane, and no cluster yet."""
    async with container_engine(folder) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        monkeypatch.setenv("KAPY_HOME", str(folder / "kapy"))
        async with plane() as first:
            life = Life(first.client, engine, folder)
            try:
                yield life, first
            finally:
                await life.close()
