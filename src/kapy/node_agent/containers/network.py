"""The network of a plane's containers: a bridge of the engine, on which the plane listens for them.

What belongs to a plane in an engine is told by a file in the folder of the agent, so that `kapy
down --delete` finds it, and the plane listens on the same port when it starts again: containers
that outlive it know no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from kapy.containers import Engine, EngineError, NameInUse, Network
from kapy.kube.foreign_json import BadJson, decoded
from kapy.node_agent.containers.names import PLANE, network_name

NAME: Final = "containers.json"

Listen = Callable[[str, int], Awaitable[int]]
"""Listens on an address of this machine, at a port if that is free, else at another one; answers
the port. Raises OSError."""


@dataclass(frozen=True, slots=True)
class Used:
    """The engine that a plane uses, and the port on which it listens for containers."""

    engine: str
    port: int


def read_used(folder: Path) -> Used | None:
    """The engine that was used last, None if there was none. folder: of the agent."""
    try:
        return msgspec.convert(decoded((folder / NAME).read_bytes()), Used)
    except (OSError, BadJson, msgspec.ValidationError):
        return None


def write_used(folder: Path, used: Used) -> None:
    """Keep which engine is used. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = folder / f"{NAME}.new"
    fresh.write_bytes(msgspec.json.encode(asdict(used)))
    fresh.replace(folder / NAME)


def network_config(plane: Path) -> dict[str, Any]:
    """The configuration of a plane's network."""
    bridge = {"com.docker.network.bridge.name": network_name(plane)}
    return {"Driver": "bridge", "Labels": {PLANE: str(plane)}, "Options": bridge}


class PlaneNetwork:
    """The network of a plane. plane, agent: their folders. listen: lets the plane be reached."""

    def __init__(self, plane: Path, agent: Path, listen: Listen) -> None:
        self.name: str = network_name(plane)
        self._plane = plane
        self._agent = agent
        self._listen = listen
        self._turn = asyncio.Lock()
        self._server: tuple[str, int] | None = None

    async def server(self, engine: Engine) -> tuple[str, int]:
        """Where containers reach the plane; the network is made if need be.

        Raises EngineError, OSError.
        """
        async with self._turn:
            host = self._gateway(await self._ensured(engine))
            if self._server is None or self._server[0] != host:
                used = read_used(self._agent)
                port = await self._listen(host, 0 if used is None else used.port)
                write_used(self._agent, Used(engine.address, port))
                self._server = host, port
            return self._server

    async def _ensured(self, engine: Engine) -> Network:
        found = await engine.network(self.name)
        if found is None:
            with suppress(NameInUse):
                await engine.create_network(self.name, network_config(self._plane))
            found = await engine.network(self.name)
        if found is None or found.labels.get(PLANE) != str(self._plane):
            raise EngineError(
                f"the engine's network {self.name} is not this plane's; remove it "
                f"(`docker network rm {self.name}`)"
            )
        return found

    def _gateway(self, network: Network) -> str:
        found = next((one for one in network.gateways if ":" not in one), "")
        if not found:
            raise EngineError(
                f"the engine's network {self.name} has no IPv4 address of this machine; remove it "
                f"(`docker network rm {self.name}`), so that it is made anew"
            )
        return found
