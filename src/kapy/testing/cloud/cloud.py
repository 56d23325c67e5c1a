"""The state of the simulated cloud: networks, and servers that boot in them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import count

from kapy._aio.clock import Clock
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.providers.inmemory.workload.cluster import Host, Milestones, WorkloadCluster
from kapy.providers.inmemory.workload.kubeadm import Settings
from kapy.providers.inmemory.workload.nodes import address_of
from kapy.sdk import Endpoint
from kapy.testing.cloud.boot import BadUserData, Boot, boot_of


class NoNetwork(KapyError):
    """There is no network of that name."""


class InUse(KapyError):
    """A network has servers."""


@dataclass
class Server:
    """A server in a network of the cloud. state: `booting`, `running`, or `failed`. because: the
    reason for a failure.
    """

    id: str
    name: str
    size: str
    image: str
    address: str
    state: str = "booting"
    because: str = ""


@dataclass
class Network:
    """A network with an address for its API server."""

    name: str
    region: str
    endpoint: Endpoint
    servers: dict[str, Server] = field(default_factory=dict)


class Cloud:
    """The simulated cloud: its networks and their servers. boot_seconds: the time that a server
    takes to start.
    """

    def __init__(self, clock: Clock, *, boot_seconds: float = 1.0) -> None:
        self.networks: dict[str, Network] = {}
        self._fleet = InMemoryClusters(clock=clock)
        self._clock = clock
        self._boot_seconds = boot_seconds
        self._numbers = count(1)
        self._boots: asyncio.Queue[tuple[Network, Server, bytes]] = asyncio.Queue()
        self._untidy: asyncio.Queue[Key] = asyncio.Queue()
        self._begun: dict[str, asyncio.Event] = {}
        self._fleet.subscribe_untidy(self._untidy.put_nowait)
        self._fleet.listen()

    def make_network(self, name: str, region: str) -> Network:
        """Return the network of that name; create it if it does not exist."""
        if name not in self.networks:
            key = Key("", name)
            endpoint = self._fleet.free_endpoint(key, name, lambda _: False)
            self._fleet.open(key, name, endpoint)
            self.networks[name] = Network(name, region, endpoint)
            self._begun[name] = asyncio.Event()
        return self.networks[name]

    def delete_network(self, name: str) -> None:
        """Delete a network. Raises NoNetwork, or InUse if it has servers."""
        if self._network(name).servers:
            raise InUse(f"network {name} has servers: delete them first")
        self._fleet.drop(Key("", name))
        del self.networks[name], self._begun[name]

    def make_server(
        self, network: str, name: str, size: str, image: str, user_data: bytes
    ) -> Server:
        """Return the server of that name in a network; create it if it does not exist. Raises
        NoNetwork."""
        place = self._network(network)
        if name not in place.servers:
            instance = f"i-{next(self._numbers):06d}"
            place.servers[name] = Server(instance, name, size, image, address_of(name))
            self._boots.put_nowait((place, place.servers[name], user_data))
        return place.servers[name]

    def delete_server(self, network: str, name: str) -> bool:
        """Delete a server; return whether it existed. Raises NoNetwork."""
        server = self._network(network).servers.pop(name, None)
        workload = self._fleet.get(Key("", network))
        if server is not None and workload is not None:
            workload.remove(name)
        return server is not None

    async def run(self) -> None:
        """Boot servers, and serve and clean up their API servers, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._fleet.serve())
            group.create_task(self._tidy())
            while True:
                place, server, data = await self._boots.get()
                group.create_task(self._boot(place, server, data), name=f"boot {server.name}")

    def _network(self, name: str) -> Network:
        if name not in self.networks:
            raise NoNetwork(f"there is no network {name}")
        return self.networks[name]

    async def _tidy(self) -> None:
        while True:
            workload = self._fleet.get(await self._untidy.get())
            if workload is not None:
                await workload.housekeeping.tidy()

    async def _boot(self, place: Network, server: Server, data: bytes) -> None:
        # A timer, as it simulates time that a real machine would take.
        await asyncio.sleep(self._boot_seconds)
        try:
            boot = boot_of(data, hostname=server.name, instance_id=server.id)
        except BadUserData as error:
            server.state, server.because = "failed", f"its user data cannot be used: {error}"
            return
        server.state = "running"
        begun = self._begun[place.name]
        if not boot.begins:
            await begun.wait()  # kubeadm join retries until the API server answers
        workload = self._fleet.get(Key("", place.name))
        if workload is None or place.servers.get(server.name) is not server:
            return  # deleted meanwhile
        self._start(workload, server, boot)
        begun.set()

    def _start(self, workload: WorkloadCluster, server: Server, boot: Boot) -> None:
        host = Host(boot.name, server.id, boot.provider_id, server.image, boot.control_plane)
        now = self._clock()
        workload.machines[boot.name] = Milestones(now, now, now)
        workload.start_node(host)
        if boot.authority is None:
            return
        workload.register(boot.name)
        workload.start_etcd(host, boot.etcd_authority)
        settings = Settings(
            workload.key.name, server.image, workload.url, boot.authority.certificate
        )
        workload.start_api_server(host, boot.authority, settings, boot.text)
