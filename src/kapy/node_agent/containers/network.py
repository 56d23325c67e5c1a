"""The network of a plane's containers: a bridge of the engine, on which the plane listens for them.

A file in the folder of the agent records the network and port of a plane. By it `kapy down
--delete` finds the plane's objects in the engine, and a plane that starts again listens on the same
port: containers that outlive the plane know no other.

Engines give fixed addresses only in networks whose subnet was configured. So the network is made
twice: the engine chooses a subnet (among those that its owner allows), which the second one has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

import msgspec

from kapy.containers import Engine, EngineError, NameInUse, Network
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.node_agent.containers.names import JOINED, PLANE, network_name, plane_digest

NAME: Final = "containers.json"
FIXED: Final = "cluster.x-k8s.io/kapy-subnet"
"""The label of a network with the subnet that it was configured with."""
_OVERLAPS: Final = ("overlap", "already used")
"""Parts of the messages of Docker and Podman about a subnet that is in use."""

Listen = Callable[[str, int], Awaitable[int]]
"""Listens on an address of this machine, at a port if that is free, else at another one; returns
the port. Raises OSError."""


@dataclass(frozen=True, slots=True)
class Used:
    """The engine that a plane uses, and the port on which it listens for containers."""

    engine: str
    port: int


def read_used(folder: Path) -> Used | None:
    """Return the engine that was used last, None if there was none. folder: the agent's."""
    try:
        return msgspec.convert(decode_json((folder / NAME).read_bytes()), Used)
    except (OSError, BadJson, msgspec.ValidationError):
        return None


def write_used(folder: Path, used: Used) -> None:
    """Write a file that records the container engine and the port in use. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = folder / f"{NAME}.new"
    fresh.write_bytes(msgspec.json.encode(asdict(used)))
    fresh.replace(folder / NAME)


def network_config(plane: Path, subnet: IPv4Network | None = None) -> dict[str, Any]:
    """Return the configuration of a plane's network. subnet: the subnet of the network, None for
    one that the engine chooses.
    """
    bridge = {"com.docker.network.bridge.name": network_name(plane)}
    result: dict[str, Any] = {"Driver": "bridge", "Labels": {PLANE: str(plane)}, "Options": bridge}
    if subnet is not None:
        result["Labels"][FIXED] = str(subnet)
        # Docker does not tell the gateway of a configured subnet that it chose itself.
        addresses = {"Subnet": str(subnet), "Gateway": str(subnet[1])}
        result["IPAM"] = {"Driver": "default", "Config": [addresses]}
    return result


class PlaneNetwork:
    """The container network of a plane. plane, agent: the folders of the plane and its agent.
    listen: makes the API server listen in the network.
    """

    def __init__(self, plane: Path, agent: Path, listen: Listen) -> None:
        self.name: str = network_name(plane)
        self._plane = plane
        self._agent = agent
        self._listen = listen
        self._turn = asyncio.Lock()
        self._server: tuple[str, int] | None = None
        self._subnet: IPv4Network | None = None

    @property
    def subnet(self) -> IPv4Network | None:
        """Return the subnet, None before the first call of `server`."""
        return self._subnet

    @property
    def gateway(self) -> str:
        """Return the plane's address in the network, "" before the first call of `server`."""
        return "" if self._server is None else self._server[0]

    async def server(self, engine: Engine) -> tuple[str, int]:
        """Return the URL at which containers reach the plane, and create the network if needed.

        Raises EngineError, OSError.
        """
        async with self._turn:
            network = await self._ensure_network(engine)
            host = self._gateway(network)
            if self._server is None or self._server[0] != host:
                used = read_used(self._agent)
                port = await self._listen(host, 0 if used is None else used.port)
                write_used(self._agent, Used(engine.address, port))
                self._server = host, port
            self._subnet = _subnet_of(network)
            return self._server

    async def _ensure_network(self, engine: Engine) -> Network:
        result = await self._ensure(engine, None)
        if result.labels.get(FIXED):
            return result
        # The engine has chosen the subnet: now, or for an earlier release of kapy.
        wanted = _subnet_of(result)
        if wanted is None:
            raise EngineError(self._no_address())
        await self._remove_containers(engine)
        await engine.remove_network(self.name)
        return await self._made_with(engine, wanted)

    async def _made_with(self, engine: Engine, wanted: IPv4Network) -> Network:
        """Return the network with a subnet that neither this machine nor another network has."""
        said = ""
        start = int(plane_digest(self._plane), 16)
        for subnet in fitting_subnets(wanted, host_networks(but=self.name), start):
            try:
                return await self._ensure(engine, subnet)
            except EngineError as error:
                said = str(error)
                if not any(word in said.lower() for word in _OVERLAPS):
                    raise
        raise EngineError(
            f"no subnet for the network {self.name} is free on this machine, which its Pods need; "
            f"remove networks that nobody uses (`docker network prune`){said and f': {said}'}"
        )

    async def _ensure(self, engine: Engine, subnet: IPv4Network | None) -> Network:
        """Return the network of the plane; create it with the subnet if it does not exist."""
        result = await engine.network(self.name)
        if result is None:
            with suppress(NameInUse):
                await engine.create_network(self.name, network_config(self._plane, subnet))
            result = await engine.network(self.name)
        if result is None or result.labels.get(PLANE) != str(self._plane):
            raise EngineError(
                f"the engine's network {self.name} is not this plane's; remove it "
                f"(`docker network rm {self.name}`)"
            )
        return result

    async def _remove_containers(self, engine: Engine) -> None:
        """Remove the plane's containers in the network, so that the network can be removed."""
        for item in await engine.containers({PLANE: str(self._plane)}):
            if self.name in item.addresses or JOINED in item.labels:
                await engine.remove(item.id)

    def _gateway(self, network: Network) -> str:
        result = next((item for item in network.gateways if ":" not in item), "")
        if not result:
            raise EngineError(self._no_address())
        return result

    def _no_address(self) -> str:
        return (
            f"the engine's network {self.name} has no IPv4 address of this machine; remove it "
            f"(`docker network rm {self.name}`), so that it is made anew"
        )


def _subnet_of(network: Network) -> IPv4Network | None:
    result = next((item for item in network.subnets if ":" not in item), "")
    try:
        return IPv4Network(result, strict=False) if result else None
    except ValueError:
        return None


ROUTES: Final = Path("/proc/net/route")
_UP: Final = 1
_OWN: Final = (IPv4Network("172.16.0.0/12"), IPv4Network("10.0.0.0/8"))
_LENGTH: Final = 24
_STEP: Final = 40503
"""Candidates are spread evenly (the golden section of 65536): a network of the machine may have
half of a range."""
MOST: Final = 50
"""The number of subnets that are tried."""


def host_networks(*, but: str = "") -> list[IPv4Network]:
    """Return the IPv4 networks in the routes of this machine, without the default route. but: the
    interface whose routes are ignored."""
    try:
        lines = ROUTES.read_text().splitlines()[1:]
    except OSError:
        return []
    result = (_network(line.split(), but) for line in lines)
    return [item for item in result if item is not None and item.prefixlen]


def _network(fields: list[str], but: str) -> IPv4Network | None:
    if len(fields) < 8 or fields[0] == but or not int(fields[3], 16) & _UP:
        return None
    address, mask = (bytes.fromhex(fields[index])[::-1] for index in (1, 7))
    return IPv4Network((address, int.from_bytes(mask).bit_count()), strict=False)


def fitting_subnets(
    preferred: IPv4Network, taken: Iterable[IPv4Network], start: int
) -> Iterator[IPv4Network]:
    """Yield subnets that overlap with no taken one: first the preferred one, then private ranges.
    start: the number of the first private range, which differs between planes.
    """
    others = list(taken)
    for item in (preferred, *_candidates(start)):
        if not any(item.overlaps(other) for other in others):
            yield item


def _candidates(start: int) -> Iterator[IPv4Network]:
    for index in range(MOST):
        block = _OWN[index * len(_OWN) // MOST]
        count = 1 << (_LENGTH - block.prefixlen)
        number = (start + index * _STEP) % count
        yield IPv4Network((int(block.network_address) + (number << (32 - _LENGTH)), _LENGTH))
