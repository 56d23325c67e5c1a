"""Published ports of load balancers that this machine cannot reach by their own addresses.

Container networks are unreachable if the engine is rootless (they are in its user's network
namespace), is Docker Desktop (in a virtual machine), or runs in a container. The load balancers are
then reached only at the ports that the engine publishes.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from kapy.containers import Container, Engine
from kapy.providers.docker.containers import API_SERVER_PORT, NETWORK

LOCAL: Final = "127.0.0.1"
_ANY_PORT: Final = 9


class PublishedAddresses:
    """Addresses on the engine's machine, by the addresses of load balancers."""

    def __init__(self) -> None:
        self._published: dict[str, str] = {}
        self._handlers: list[Callable[[str, str], None]] = []

    def subscribe(self, handler: Callable[[str, str], None]) -> Callable[[], None]:
        """Call `handler(address, published)` for each address that is known, and for new ones.
        Returns a function that unsubscribes.
        """
        for internal, published in self._published.items():
            handler(internal, published)
        self._handlers.append(handler)
        return lambda: self._handlers.remove(handler)

    def set(self, address: str, published: str) -> None:
        """Record where the load balancer of an address is published, both with a port."""
        self._published[address] = published
        for handler in tuple(self._handlers):
            handler(address, published)

    def learn(self, balancer: Container, address: str, machine: str) -> bool:
        """Record the published port of a load balancer; return whether it has changed.

        address: the load balancer's own address. machine: the host on which the engine publishes
        ports.
        """
        port = _published_port(balancer.ports)
        internal, published = (
            _join_host_port(address, API_SERVER_PORT),
            _join_host_port(machine, port),
        )
        if not port or self._published.get(internal) == published:
            return False
        self.set(internal, published)
        return True

    def instead_of(self, server: str) -> str:
        """Return the URL by which this machine reaches a server, "" if its own URL works."""
        parts = urlsplit(server)
        published = self._published.get(parts.netloc)
        return "" if published is None else parts._replace(netloc=published).geturl()


async def published_at(engine: Engine, address: str) -> str:
    """Return the host on which an engine publishes ports of containers; "" if this machine reaches
    the address of a container itself. Raises EngineError.

    An engine on another machine, or in a container, is reached over TCP or SSH.
    """
    host = urlsplit(engine.address).hostname or LOCAL
    if not (await engine.info()).hides_addresses and _is_this_machine(host):
        return ""
    network = await engine.network(NETWORK)
    if network is not None and is_near(address, network.subnets):
        return ""  # this program is in the engine's network namespace, or in a container
    return host


def is_near(address: str, subnets: Sequence[str]) -> bool:
    """Return whether this machine is in the network of an address. Nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect((address, _ANY_PORT))
            own = ip_address(probe.getsockname()[0])
        except (OSError, ValueError):
            return False
    return any(own in ip_network(subnet, strict=False) for subnet in subnets)


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _published_port(ports: Mapping[str, str]) -> str:
    return ports.get(f"{API_SERVER_PORT}/tcp", "")


def _join_host_port(host: str, port: int | str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
