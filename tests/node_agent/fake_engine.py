"""A container engine in memory, for Pods on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from typing import Any, BinaryIO

from kapy.containers import (
    CommandResult,
    Container,
    DiskFull,
    Engine,
    EngineError,
    EngineInfo,
    EngineUnreachable,
    Image,
    NameInUse,
    Network,
    NoSuchObject,
    PortInUse,
    Session,
)
from kapy.containers.engine import Progress
from kapy.containers.errors import pull_failed

STARTED = "2026-01-01T00:00:01.123456789Z"
ENDED = "2026-01-01T00:00:09.5Z"


@dataclass
class FakeContainer:
    """One container. wakes: set when it has ended or is gone."""

    config: Mapping[str, Any]
    record: Container
    wakes: asyncio.Event = field(default_factory=asyncio.Event)
    log: str = ""


class FakeEngine(Engine):
    """images: in the engine, by name; registry: those that can be pulled. down: whether nobody
    answers. full: whether its disk is. chosen: the subnet of networks that configure none."""

    def __init__(self) -> None:
        super().__init__("unix:///fake.sock")
        self.images: dict[str, Image] = {}
        self.registry: dict[str, Image] = {}
        self.networks: dict[str, Network] = {}
        self.chosen = "172.20.0.0/16"
        self.overlapping: list[str] = []
        """Subnets that other networks of the engine have."""
        self._configured: set[str] = set()
        self.made: dict[str, FakeContainer] = {}
        self.down = self.full = self.rootless = False
        self.diary: list[str] = []
        self.logins: list[Mapping[str, str] | None] = []
        self._count = 1

    def running(self) -> list[FakeContainer]:
        """The containers that run, in the order of their creation."""
        return [one for one in self.made.values() if one.record.is_running]

    def end(self, one: FakeContainer, code: int = 1, **more: Any) -> None:
        """End a container from outside."""
        one.record = replace(
            one.record, state="exited", exit_code=code, finished=ENDED, addresses={}, **more
        )
        one.wakes.set()

    async def close(self) -> None:
        self.diary.append("close")

    async def info(self) -> EngineInfo:
        self._answers()
        security = ("name=rootless",) if self.rootless else ()
        return EngineInfo(name="fake", version="1", storage_driver="overlay2", security=security)

    async def containers(
        self, labels: Mapping[str, str] | None = None, *, name: str = ""
    ) -> Sequence[Container]:
        self._answers()
        wanted = (labels or {}).items()
        return [
            one.record
            for one in self.made.values()
            if all(one.record.labels.get(key) == value for key, value in wanted)
        ]

    async def container(self, name: str) -> Container | None:
        self._answers()
        found = self.made.get(name)
        return None if found is None else found.record

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        self._answers()
        if self.full:
            raise DiskFull("no space left on device: free space")
        if any(one.record.name == name for one in self.made.values()):
            raise NameInUse(f"the name {name} is in use")
        self._count += 1
        identity = f"id-{self._count}"
        record = Container(
            id=identity, name=name, image="", state="created", labels=config["Labels"],
            image_id=config["Image"],
        )  # fmt: skip
        self.made[identity] = FakeContainer(config, record)
        self.diary.append(f"create {identity}")
        return identity

    async def start(self, name: str) -> None:
        found = self._found(name)
        network = found.config["HostConfig"]["NetworkMode"]
        addresses = {network: (self._given(found.config, network), "")}
        if network == "host" or network.startswith("container:"):
            addresses = {}
        found.record = replace(found.record, state="running", started=STARTED, addresses=addresses)

    def _given(self, config: Mapping[str, Any], network: str) -> str:
        """The address of a container: that which it asks for, as Docker gives it."""
        ends = (config.get("NetworkingConfig") or {}).get("EndpointsConfig") or {}
        wanted = (ends.get(network) or {}).get("IPAMConfig", {}).get("IPv4Address")
        if wanted is None:
            return f"172.20.250.{self._count}"
        if network not in self._configured:
            raise EngineError(
                "user specified IP address is supported only when connecting to networks with "
                "user configured subnets"
            )
        if any(one.record.address(network)[0] == wanted for one in self.running()):
            raise PortInUse("failed to set up container networking: Address already in use")
        return str(wanted)

    async def stop(self, name: str, seconds: float) -> None:
        found = self._found(name)
        self.diary.append(f"stop {name} {seconds:g}")
        if found.record.is_running:
            self.end(found, 143)

    async def wait(self, name: str) -> int:
        found = self._found(name)
        while found.record.state in ("running", "paused"):
            found.wakes.clear()
            await found.wakes.wait()
            self._answers()
        return self._found(name).record.exit_code

    async def remove(self, name: str) -> bool:
        self._answers()
        found = self.made.pop(name, None)
        if found is None:
            return False
        self.diary.append(f"remove {name}")
        found.record = replace(found.record, state="removed")
        found.wakes.set()
        return True

    async def logs(self, name: str, *, lines: int = 200) -> str:
        return self._found(name).log

    async def run(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes | BinaryIO = b"",
        environment: Mapping[str, str] | None = None,
        privileged: bool = True,
    ) -> CommandResult:
        self._found(name)
        self.diary.append(f"run {' '.join(command)}{' privileged' if privileged else ''}")
        return CommandResult(3, "", "")

    async def attach(self, name: str, command: Sequence[str], session: Session) -> int:
        """Writes what it reads, and the sizes of the terminal; ends with the code that it is told,
        or at the end of its input."""
        self._found(name)
        rights = " privileged" if session.privileged else ""
        self.diary.append(f"attach {list(command)}{rights}")
        if session.sizes is not None:
            taken = session.output(f"{await anext(session.sizes)}".encode())
            assert isinstance(taken, Awaitable)
            await taken
        async for piece in session.input if session.input is not None else _nothing():
            taken = session.output(piece.upper())
            assert isinstance(taken, Awaitable)
            await taken
        taken = session.errors(b"bye")
        assert isinstance(taken, Awaitable)
        await taken
        return int(command[-1])

    async def image(self, image: str) -> Image | None:
        self._answers()
        by_id = {one.id: one for one in self.images.values()}
        return self.images.get(image) or by_id.get(image)

    async def pull(
        self,
        image: str,
        progress: Progress | None = None,
        *,
        login: Mapping[str, str] | None = None,
    ) -> None:
        self._answers()
        self.logins.append(login)
        self.diary.append(f"pull {image}")
        if progress is not None:
            progress(f"pulling image {image}: 1 of 2 layers")
        if image not in self.registry:
            raise pull_failed(image, "manifest unknown")
        self.images[image] = self.registry[image]

    async def network(self, name: str) -> Network | None:
        self._answers()
        return self.networks.get(name)

    async def create_network(self, name: str, config: Mapping[str, Any]) -> None:
        self._answers()
        wanted = ((config.get("IPAM") or {}).get("Config") or [{}])[0]
        told = wanted.get("Subnet")
        if told:
            if any(IPv4Network(told).overlaps(IPv4Network(one)) for one in self.overlapping):
                raise EngineError("Pool overlaps with other one on this address space")
            self._configured.add(name)
        subnet = IPv4Network(told or self.chosen)
        self.diary.append(f"network {told}")
        # As Docker: it does not tell the gateway that it chose itself for a configured subnet.
        gateway = str(wanted.get("Gateway", "")) if told else str(subnet[1])
        gateways = (gateway,) if gateway else ()
        self.networks[name] = Network(name, (str(subnet),), config["Labels"], gateways)

    async def remove_network(self, name: str) -> bool:
        self._answers()
        if any(name in one.record.addresses for one in self.running()):
            raise EngineError(f"network {name} has active endpoints")
        self._configured.discard(name)
        return self.networks.pop(name, None) is not None

    def break_connections(self) -> None:
        """The engine ends: whoever waits notices."""
        self.down = True
        for one in self.made.values():
            one.wakes.set()

    def _answers(self) -> None:
        if self.down:
            raise EngineUnreachable("no container engine answers at unix:///fake.sock: start it")

    def _found(self, name: str) -> FakeContainer:
        self._answers()
        by_name = {one.record.name: one for one in self.made.values()}
        found = self.made.get(name) or by_name.get(name)
        if found is None:
            raise NoSuchObject(f"No such container: {name}")
        return found


async def _nothing() -> AsyncIterator[bytes]:
    pieces: tuple[bytes, ...] = ()
    for piece in pieces:
        yield piece
