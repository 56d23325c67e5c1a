"""A container engine in memory, for Pods on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from typing import Any

from kapy.containers import (
    CommandResult,
    Container,
    DiskFull,
    EngineError,
    EngineInfo,
    Image,
    NameInUse,
    Network,
    PortInUse,
    Session,
)
from kapy.testing.simulation.memory_engine import MemoryEngine

STARTED = "2026-01-01T00:00:01.123456789Z"
ENDED = "2026-01-01T00:00:09.5Z"


@dataclass
class FakeContainer:
    """One container. wakes: set when it has ended or is gone. reserved: its
    address, which another container cannot have until this one is removed."""

    config: Mapping[str, Any]
    record: Container
    wakes: asyncio.Event = field(default_factory=asyncio.Event)
    log: str = ""
    reserved: str = ""


class FakeEngine(MemoryEngine[FakeContainer]):
    """images: in the engine, by name; registry: those that can be pulled. full: whether its disk
    is. chosen: the subnet of networks that configure none. podman: what it says when the address of
    a container is taken; it then behaves as Podman, which keeps the address of a killed container
    until that is removed, and a container while others share its network."""

    def __init__(self) -> None:
        super().__init__("unix:///fake.sock")
        self.images: dict[str, Image] = {}
        self.registry: dict[str, Image] = {}
        self.chosen = "172.20.0.0/16"
        self.overlapping: list[str] = []
        """Subnets that other networks of the engine have."""
        self._configured: set[str] = set()
        self.full = self.rootless = False
        self.podman = ""
        self.logins: list[Mapping[str, str] | None] = []

    def running(self) -> list[FakeContainer]:
        """The containers that run, in the order of their creation."""
        return [item for item in self.made.values() if item.record.is_running]

    def end(self, item: FakeContainer, code: int = 1, **more: Any) -> None:
        """End a container from outside."""
        item.record = replace(
            item.record, state="exited", exit_code=code, finished=ENDED, addresses={}, **more
        )
        item.wakes.set()

    async def close(self) -> None:
        self.diary.append("close")

    async def info(self) -> EngineInfo:
        self.check_answers()
        security = ("name=rootless",) if self.rootless else ()
        return EngineInfo(
            name="fake", version="1", storage_driver="overlay2", security=security,
            is_podman=bool(self.podman),
        )  # fmt: skip

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        self.check_answers()
        if self.full:
            raise DiskFull("no space left on device: free space")
        if any(item.record.name == name for item in self.made.values()):
            raise NameInUse(f"the name {name} is in use")
        record = self.new_record(name, config, image_id=config["Image"])
        self.made[record.id] = FakeContainer(config, record)
        self.diary.append(f"create {record.id}")
        return record.id

    async def start(self, name: str) -> None:
        result = self.find(name)
        network = result.config["HostConfig"]["NetworkMode"]
        addresses = {network: (self._given(result.config, network), "")}
        if network == "host" or network.startswith("container:"):
            addresses = {}
        result.record = replace(
            result.record, state="running", started=STARTED, addresses=addresses
        )
        result.reserved = "" if self.podman == "" else addresses.get(network, ("", ""))[0]

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
        if any(item.record.address(network)[0] == wanted for item in self.running()):
            raise PortInUse("failed to set up container networking: Address already in use")
        if any(item.reserved == wanted for item in self.made.values()):
            raise EngineError(self.podman)
        return str(wanted)

    async def stop(self, name: str, seconds: float) -> None:
        result = self.find(name)
        self.diary.append(f"stop {name} {seconds:g}")
        if result.record.is_running:
            self.end(result, 143)

    async def wait(self, name: str) -> int:
        result = self.find(name)
        while result.record.state in ("running", "paused"):
            result.wakes.clear()
            await result.wakes.wait()
            self.check_answers()
        return self.find(name).record.exit_code

    async def remove(self, name: str) -> bool:
        self.check_answers()
        shared = f"container:{name}"
        modes = [
            item.config.get("HostConfig", {}).get("NetworkMode") for item in self.made.values()
        ]
        if self.podman and shared in modes:
            raise EngineError(f"container {name} has dependent containers")
        result = self.made.pop(name, None)
        if result is None:
            return False
        self.diary.append(f"remove {name}")
        result.record = replace(result.record, state="removed")
        result.wakes.set()
        return True

    async def logs(self, name: str, *, lines: int = 200) -> str:
        return self.find(name).log

    async def carry_out(
        self, name: str, command: Sequence[str], content: bytes, *, privileged: bool
    ) -> CommandResult:
        self.find(name)
        self.diary.append(f"run {' '.join(command)}{' privileged' if privileged else ''}")
        return CommandResult(3, "", "")

    async def run_session(self, name: str, command: Sequence[str], session: Session) -> int:
        """Writes what it reads, and the sizes of the terminal; ends with the code that it is told,
        or at the end of its input."""
        self.find(name)
        rights = " privileged" if session.privileged else ""
        self.diary.append(f"session {list(command)}{rights}")
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

    async def attach(self, name: str, session: Session) -> None:
        """Says its name, writes what it reads, and ends with its input."""
        result = self.find(name)
        self.diary.append(f"attach {result.config.get('OpenStdin', False)} {session.tty}")
        for piece in [b"here ", *[piece async for piece in session.input or _nothing()]]:
            taken = session.output(piece)
            assert isinstance(taken, Awaitable)
            await taken

    async def image(self, image: str) -> Image | None:
        self.check_answers()
        by_id = {item.id: item for item in self.images.values()}
        return self.images.get(image) or by_id.get(image)

    def is_in_registry(self, image: str) -> bool:
        return image in self.registry

    async def take_in(self, image: str, login: Mapping[str, str] | None) -> None:
        self.logins.append(login)
        self.diary.append(f"pull {image}")
        if image in self.registry:
            self.images[image] = self.registry[image]

    async def create_network(self, name: str, config: Mapping[str, Any]) -> None:
        self.check_answers()
        wanted = ((config.get("IPAM") or {}).get("Config") or [{}])[0]
        subnet_wanted = wanted.get("Subnet")
        if subnet_wanted:
            if any(
                IPv4Network(subnet_wanted).overlaps(IPv4Network(item)) for item in self.overlapping
            ):
                raise EngineError("Pool overlaps with other one on this address space")
            self._configured.add(name)
        subnet = IPv4Network(subnet_wanted or self.chosen)
        self.diary.append(f"network {subnet_wanted}")
        # As Docker: it does not tell the gateway that it chose itself for a configured subnet.
        gateway = str(wanted.get("Gateway", "")) if subnet_wanted else str(subnet[1])
        gateways = (gateway,) if gateway else ()
        self.networks[name] = Network(name, (str(subnet),), config["Labels"], gateways)

    async def remove_network(self, name: str) -> bool:
        self.check_answers()
        if any(name in item.record.addresses for item in self.running()):
            raise EngineError(f"network {name} has active endpoints")
        self._configured.discard(name)
        return await super().remove_network(name)

    def break_connections(self) -> None:
        """The engine ends: whoever waits notices."""
        self.down = True
        for item in self.made.values():
            item.wakes.set()


async def _nothing() -> AsyncIterator[bytes]:
    pieces: tuple[bytes, ...] = ()
    for piece in pieces:
        yield piece
