"""All workload clusters of this process, and the connections to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from kapy._aio.clock import Clock
from kapy.api.embedded import FailureDomain
from kapy.kube import Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Transport
from kapy.kube.packed_json import Packer
from kapy.providers.inmemory.credentials import user_of
from kapy.providers.inmemory.front import Front, NoPort
from kapy.providers.inmemory.sockets import LOOPBACK, PORT, PORTS, loopback_address
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.remote.cluster_cache import Dial, Kubeconfig
from kapy.sdk import Endpoint

log = logging.getLogger(__name__)

T = TypeVar("T")
Notice = Callable[[Key], None]


class ServerNotice(Protocol):
    """Receives the URL of a cluster, and whether it exists."""

    def __call__(self, url: str, *, exists: bool) -> None: ...


class EndpointTaken(KapyError):
    """Two clusters cannot have the same address."""


class InMemoryClusters:
    """The clusters whose machines exist only in this process.

    clock: the clock of their API servers. seed: the seed of the jitter of start-up durations.
    elsewhere: connects to clusters of other providers. failure_domains: the failure domains of all
    clusters. host: the address under which others reach this program (a Pod's), "" if all clients
    are on this machine.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        seed: int = 0,
        elsewhere: Dial | None = None,
        failure_domains: Sequence[FailureDomain] = (),
        host: str = "",
    ) -> None:
        self.clock = clock
        self.failure_domains = failure_domains
        self.seed = seed
        self._host = host
        self._port = PORT
        self._front: Front | None = None
        self._elsewhere = elsewhere
        self._clusters: dict[Key, WorkloadCluster] = {}
        self._by_endpoint: dict[Endpoint, WorkloadCluster] = {}
        self._on_answer: list[Notice] = []
        self._on_untidy: list[Notice] = []
        self._on_address: list[Notice] = []
        self._on_server: list[ServerNotice] = []

    def __len__(self) -> int:
        return len(self._clusters)

    def get(self, cluster: Key) -> WorkloadCluster | None:
        """Return the workload cluster of a Cluster, None if there is none (yet)."""
        return self._clusters.get(cluster)

    def at(self, host: str, port: int) -> WorkloadCluster | None:
        """Return the workload cluster at an address."""
        return self._by_endpoint.get(Endpoint(host, port))

    def on_port(self, port: int) -> list[WorkloadCluster]:
        """Return the workload clusters whose endpoint has a port."""
        return [cluster for cluster in self._clusters.values() if cluster.endpoint.port == port]

    def pack_idle(self, packer: Packer) -> Iterator[None]:
        """Pack the objects of the clusters that came before the last call, one at each step."""
        for cluster in tuple(self._clusters.values()):
            yield from cluster.pack_idle(packer)

    def subscribe(self, notice: Notice) -> None:
        """Call `notice(cluster)` when a cluster's API server becomes available or unavailable."""
        self._on_answer.append(notice)

    def subscribe_untidy(self, notice: Notice) -> None:
        """Call `notice(cluster)` when a cluster needs housekeeping."""
        self._on_untidy.append(notice)

    def subscribe_address(self, notice: Notice) -> None:
        """Call `notice(cluster)` when `has_lost_address` of a cluster changes."""
        self._on_address.append(notice)

    def subscribe_servers(self, notice: ServerNotice) -> Callable[[], None]:
        """Call `notice` for each cluster that there is, and when one is created or
        deleted. Returns a function that unsubscribes.
        """
        for cluster in self._clusters.values():
            notice(cluster.url, exists=True)
        self._on_server.append(notice)
        return lambda: self._on_server.remove(notice)

    def has_lost_address(self, cluster: Key) -> bool:
        """Return whether another process has the address of a cluster, so that only this process
        reaches the cluster.
        """
        in_memory = self._clusters.get(cluster)
        return (
            in_memory is not None
            and self._front is not None
            and self._front.is_in_use(in_memory.endpoint)
        )

    def is_elsewhere(self, endpoint: Endpoint) -> bool:
        """Return whether an address is not one of this program's host: its Pod has another address
        than the one before."""
        front = self._front
        return bool(self._host) and front is not None and endpoint.host != self._host

    def free_endpoint(
        self, cluster: Key, uid: str, is_stored: Callable[[Endpoint], bool], port: int = PORT
    ) -> Endpoint:
        """Return an address for a new cluster. uid: the UID of its DevCluster. is_stored: returns
        whether another cluster already has an address. port: the preferred port, if each cluster
        has its own port.
        """

        def is_free(endpoint: Endpoint) -> bool:
            return endpoint not in self._by_endpoint and not is_stored(endpoint)

        front = self._front
        if front is not None and not front.many_addresses:
            host = self._host or LOOPBACK
            endpoints = (Endpoint(host, number) for number in (port, *PORTS))
            free = next(
                (item for item in endpoints if is_free(item) and front.can_admit(item)), None
            )
            if free is None:
                raise NoPort(f"none of the ports {PORTS.start}-{PORTS.stop - 1} is free")
            return free
        name = f"{cluster}/{uid}"
        host = loopback_address(name, lambda host: not is_free(Endpoint(host, self._port)))
        return Endpoint(host, self._port)

    async def request(self, verb: str, path: str, act: Callable[[], T]) -> T:
        """Carry out a request to the cloud of these clusters, at once. A simulation overrides this
        with requests that are slow or fail.

        verb, path: say in traces what is requested. act: changes the cloud; doing it twice has the
        effect of doing it once.
        """
        del verb, path
        return act()

    def open(self, cluster: Key, uid: str, endpoint: Endpoint) -> WorkloadCluster:
        """Return the workload cluster of a Cluster. Create it if it does not exist, because the
        Cluster is new or this process was restarted.

        uid: the UID of the DevCluster; another UID means another cluster. Raises EndpointTaken.
        """
        result = self._clusters.get(cluster)
        if result is not None and result.uid == uid and result.endpoint == endpoint:
            return result
        other = self._by_endpoint.get(endpoint)
        if other is not None and other.key != cluster:
            raise EndpointTaken(
                f"{endpoint.host}:{endpoint.port} is the endpoint of Cluster {other.key} already"
            )
        self.drop(cluster)
        value = WorkloadCluster(
            cluster, uid, endpoint, clock=self.clock, notice=self._notify, untidy=self._call_in
        )
        self._clusters[cluster] = self._by_endpoint[endpoint] = value
        self._report_server(value, exists=True)
        if self._front is not None:
            try:
                self._front.admit(endpoint)
            except OSError:  # in-process clients can reach it nevertheless
                self._front.admit_later(endpoint)
        return value

    def drop(self, cluster: Key) -> None:
        """Delete a cluster and everything in it."""
        result = self._clusters.pop(cluster, None)
        if result is not None:
            del self._by_endpoint[result.endpoint]
            if self._front is not None:
                self._front.dismiss(result.endpoint)
            result.close()
            self._report_server(result, exists=False)

    def dial(self, kubeconfig: Kubeconfig) -> Transport:
        """Connect to an API server, in process if it is simulated here. Raises Unreachable."""
        cluster = self._at(kubeconfig)
        if cluster is None:
            if self._elsewhere is None:
                raise Unreachable(f"nobody answers at {kubeconfig.server}")
            return self._elsewhere(kubeconfig)
        if cluster.authority is None or not cluster.answers:
            raise Unreachable(f"no API server answers at {kubeconfig.server}")
        return cluster.transport(user_of(kubeconfig, cluster.authority, self.clock()))

    def serves(self, kubeconfig: Kubeconfig) -> bool:
        """Return whether the kubeconfig is that of a cluster in this process."""
        return self._at(kubeconfig) is not None

    def etcd_dial(self, _: Key, kubeconfig: Kubeconfig, node: str) -> Transport:
        """Connect to the etcd gateway of a control plane machine. Raises Unreachable."""
        cluster = self._at(kubeconfig)
        if cluster is None or not cluster.answers:
            raise Unreachable(f"no API server answers at {kubeconfig.server}")
        return cluster.etcd.dial(node)

    async def certificate_expiry(self, kubeconfig: Kubeconfig, node: str) -> datetime:
        """Return the expiry time of the API server's certificate on a machine. Raises
        Unreachable.
        """
        cluster = self._at(kubeconfig)
        if cluster is None:
            raise Unreachable(f"no API server answers at {kubeconfig.server}")
        return cluster.certificate_end(node)

    def listen(self) -> None:
        """Open the socket of the workload clusters before any cluster is created. Raises NoPort.

        Without it they are only reachable in process.
        """
        self._front = Front(self.at, self.clock, self._host, notice=self._on_front)
        self._port = self._front.first_port()

    async def serve(self) -> None:
        """Serve the sockets until cancelled; call `listen` first."""
        assert self._front is not None, "listen() comes before serve()"
        await self._front.serve()

    def close(self) -> None:
        """Stop all clusters and close the sockets."""
        if self._front is not None:
            self._front.close()
        for cluster in tuple(self._clusters):
            self.drop(cluster)

    def _at(self, kubeconfig: Kubeconfig) -> WorkloadCluster | None:
        url = urlsplit(kubeconfig.server)
        return self.at(url.hostname or "", url.port or 443)

    def _on_front(self, endpoint: Endpoint) -> None:
        cluster = self._by_endpoint.get(endpoint)
        if cluster is None:
            return
        if self.has_lost_address(cluster.key):
            log.warning("cluster %s: another process has %s", cluster.key, cluster.url)
        else:
            log.info("cluster %s is reached at %s again", cluster.key, cluster.url)
        for notice in tuple(self._on_address):
            notice(cluster.key)

    def _report_server(self, cluster: WorkloadCluster, *, exists: bool) -> None:
        for notice in tuple(self._on_server):
            notice(cluster.url, exists=exists)

    def _call_in(self, cluster: Key) -> None:
        for notice in tuple(self._on_untidy):
            notice(cluster)

    def _notify(self, cluster: Key) -> None:
        for notice in tuple(self._on_answer):
            notice(cluster)
