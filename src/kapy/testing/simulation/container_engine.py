"""A simulated container engine, and the connection of a process to it.

The engine outlives the managers. A container whose boot data have run kubeadm becomes a Node, and
an API server is reached while the load balancer's configuration names its machine.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, Final

from kapy.containers import (
    CommandResult,
    Container,
    Engine,
    EngineError,
    EngineInfo,
    EngineUnreachable,
    File,
    Network,
    NoSuchObject,
)
from kapy.containers.engine import Progress
from kapy.kube import Document
from kapy.kube.boot import SUCCEEDED
from kapy.providers.docker.containers import NETWORK
from kapy.providers.docker.load_balancer_config import PATH
from kapy.testing.simulation import network
from kapy.testing.simulation.cloud_network import CloudNetwork
from kapy.testing.simulation.fake_engine import FakeContainer, FakeEngine

KUBEADM: Final = re.compile(r"\bkubeadm (init|join)\b")
_SERVER: Final = re.compile(r"^  server (\S+) ", re.MULTILINE)
_DONE: Final = CommandResult(0, "", "")

OnContainer = Callable[[Container], None]


class SimulatedEngine(FakeEngine):
    """The simulated container engine of one run. volumes: the names of its volumes. boot: runs
    kubeadm in a container. removed: called with the name of a removed container. balanced: called
    with the name of a load balancer and its members when it reads its configuration."""

    def __init__(self) -> None:
        super().__init__()
        self.volumes: set[str] = set()
        self.boot: Callable[[str], Awaitable[None]] = _no_boot
        self.removed: Callable[[str], None] = lambda _: None
        self.balanced: Callable[[str, Sequence[str]], None] = lambda _, __: None
        self._followers: list[tuple[str, asyncio.Queue[Container]]] = []

    def inventory(self) -> list[str]:
        """Return the names of the engine's containers, networks and volumes."""
        return [
            *(f"container {name}" for name in self.made),
            *(f"network {name}" for name in self.networks),
            *(f"volume {name}" for name in self.volumes),
        ]

    def lines(self) -> Iterator[str]:
        """Return the engine's state as text lines: images, networks, and each container with its
        files and commands.
        """
        yield f"{sorted(self.images)} {sorted(self.networks)} {len(self.volumes)} volumes"
        for name, container in self.made.items():
            record, members = container.record, _members(container)
            yield f"{name} {record.state} {record.image} {sorted(record.labels.items())} {members}"
            yield f"{name} {sorted(container.files)} {container.ran} {container.signals}"

    def is_in_registry(self, image: str) -> bool:
        """Return True: the registry has every image."""
        self.registry.add(image)
        return True

    async def take_in(self, image: str, login: Mapping[str, str] | None) -> None:
        """Add an image to the registry, and pull it."""
        self.registry.add(image)
        await super().take_in(image, login)

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        """Create a container with its volume."""
        result = await super().create(name, config)
        self.volumes.add(f"var of {result}")
        return result

    async def start(self, name: str) -> None:
        """Start a container, unless it runs."""
        if self.find(name).record.is_running:
            return
        if NETWORK not in self.networks:
            raise NoSuchObject(f"network {NETWORK} not found")
        await super().start(name)
        self._balance(name)
        self._report(self.find(name).record, "start")

    async def kill(self, name: str, signal: str = "SIGKILL") -> None:
        """Send a signal to a container."""
        await super().kill(name, signal)
        self._balance(name)

    async def remove_network(self, name: str) -> bool:
        """Remove a network that no container uses."""
        if self.made:
            raise EngineError(f"network {name} has active endpoints")
        return await super().remove_network(name)

    async def remove(self, name: str) -> bool:
        """Remove a container with its volume."""
        container = self.made.get(name)
        result = await super().remove(name)
        if container is not None:
            self.volumes.discard(f"var of {container.record.id}")
            self.removed(name)
            self._report(container.record, "destroy")
        return result

    async def follow(self, label: str, callback: OnContainer) -> None:
        """Report containers with a label that start or end."""
        events: asyncio.Queue[Container] = asyncio.Queue()
        follower = label, events
        self._followers.append(follower)
        try:
            while True:
                callback(await events.get())
        finally:
            self._followers.remove(follower)

    def _report(self, record: Container, action: str) -> None:
        for label, events in self._followers:
            if label in record.labels:
                events.put_nowait(replace(record, state=action))

    def _balance(self, name: str) -> None:
        if PATH in self.find(name).files:
            self.balanced(name, _members(self.find(name)))

    async def _carry_out(
        self, result: FakeContainer, command: Sequence[str], content: bytes
    ) -> CommandResult:
        if len(command) > 2 and command[0] == "/bin/sh" and KUBEADM.search(command[2]):
            await self.boot(result.record.name)
            result.files[SUCCEEDED] = b"success"
            return _DONE
        return await super()._carry_out(result, command, content)


def _members(container: FakeContainer) -> Sequence[str]:
    """Return the machines in the configuration of a load balancer."""
    return _SERVER.findall(container.files.get(PATH, b"").decode())


async def _no_boot(_: str) -> None:
    """Do nothing: the default of `SimulatedEngine.boot`."""


class EngineNetwork(Engine):
    """The connection of one process to the engine: each operation is a request."""

    def __init__(
        self, engine: SimulatedEngine, process: network.Process, shared: network.Network
    ) -> None:
        super().__init__(engine.address)
        self._engine = engine
        self._cloud = CloudNetwork(process, shared, EngineUnreachable, EngineError, is_far=True)

    async def info(self) -> EngineInfo:
        """Return the engine's properties; they are requested once."""
        if self._info is None:
            self._info = await self._cloud.request("GET", "/info", self._engine.info)
        return self._info

    async def containers(
        self, labels: Mapping[str, str] | None = None, *, name: str = ""
    ) -> Sequence[Container]:
        """Request the containers with these labels."""
        act = partial(self._engine.containers, labels, name=name)
        return await self._cloud.request("LIST", "/containers", act)

    async def container(self, name: str) -> Container | None:
        """Request the container with a name."""
        act = partial(self._engine.container, name)
        return await self._cloud.request("GET", f"/containers/{name}", act)

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        """Request the creation of a container; return its ID."""
        act = partial(self._engine.create, name, config)
        return await self._cloud.request("CREATE", f"/containers/{name}", act)

    async def start(self, name: str) -> None:
        """Request the start of a container."""
        act = partial(self._engine.start, name)
        await self._cloud.request("START", f"/containers/{name}", act)

    async def kill(self, name: str, signal: str = "SIGKILL") -> None:
        """Send a signal to a container."""
        act = partial(self._engine.kill, name, signal)
        await self._cloud.request("KILL", f"/containers/{name}", act)

    async def remove(self, name: str) -> bool:
        """Request the removal of a container."""
        act = partial(self._engine.remove, name)
        return await self._cloud.request("DELETE", f"/containers/{name}", act)

    async def put_files(self, name: str, files: Iterable[File]) -> None:
        """Write files into a container."""
        act = partial(self._engine.put_files, name, list(files))
        await self._cloud.request("PUT", f"/containers/{name}/files", act)

    async def run(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes | BinaryIO = b"",
        environment: Mapping[str, str] | None = None,
        privileged: bool = True,
    ) -> CommandResult:
        """Run a command in a container."""
        act = partial(
            self._engine.run,
            name,
            command,
            stdin=stdin,
            environment=environment,
            privileged=privileged,
        )
        return await self._cloud.request("RUN", f"/containers/{name}", act)

    def output(
        self,
        name: str,
        *,
        follow: bool = False,
        tail: int | None = None,
        since: float = 0.0,
        timestamps: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Return the output of a container."""
        del tail, since, timestamps
        return self._read_output(name, follow=follow)

    @asynccontextmanager
    async def _read_output(self, name: str, *, follow: bool) -> AsyncIterator[AsyncIterator[bytes]]:
        path = f"/containers/{name}/output"
        await self._cloud.request("GET", path, partial(self._engine.container, name))
        async with self._engine.output(name, follow=follow) as pieces:
            yield pieces

    async def has_image(self, image: str) -> bool:
        """Return whether the engine has an image."""
        act = partial(self._engine.has_image, image)
        return await self._cloud.request("GET", "/images", act)

    async def pull(
        self,
        image: str,
        progress: Progress | None = None,
        *,
        login: Mapping[str, str] | None = None,
    ) -> None:
        """Request that the engine pulls an image."""
        act = partial(self._engine.pull, image, progress, login=login)
        await self._cloud.request("PULL", "/images", act)

    async def follow(self, label: str, on_container: OnContainer) -> None:
        """Report containers with a label that start or end."""
        await self._engine.follow(label, on_container)

    async def network(self, name: str) -> Network | None:
        """Request the network with a name."""
        act = partial(self._engine.network, name)
        return await self._cloud.request("GET", f"/networks/{name}", act)

    async def create_network(self, name: str, config: Mapping[str, Any]) -> None:
        """Request the creation of a network."""
        act = partial(self._engine.create_network, name, config)
        await self._cloud.request("CREATE", f"/networks/{name}", act)

    async def remove_network(self, name: str) -> bool:
        """Request the removal of a network."""
        act = partial(self._engine.remove_network, name)
        return await self._cloud.request("DELETE", f"/networks/{name}", act)

    async def close(self) -> None:
        """Close the connection to the engine."""


def in_containers(documents: Sequence[Document]) -> list[Document]:
    """Return manifests whose in-memory clusters and machines are containers."""
    return [_in_containers(document) for document in documents]


def _in_containers(document: Document) -> Document:
    spec = document.get("spec") or {}
    if document["kind"] == "DevCluster":
        return {**document, "spec": {**spec, "backend": {"docker": {}}}}
    if document["kind"] == "DevMachineTemplate":
        return {**document, "spec": {"template": {"spec": {"backend": {"docker": {}}}}}}
    return document
