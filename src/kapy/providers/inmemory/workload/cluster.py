"""One simulated workload cluster: its machines, their Nodes, etcd members and API servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple
from uuid import UUID

from kapy._aio.clock import Clock
from kapy.api.times import stamp
from kapy.kube import Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport, User
from kapy.kube.names import CONFIG_MAPS
from kapy.kube.packed_json import Packer
from kapy.kube.pki import LEAF_VALIDITY, KeyPair
from kapy.providers.inmemory.workload.etcd import Etcd
from kapy.providers.inmemory.workload.housekeeping import Housekeeping, TokenCleaner
from kapy.providers.inmemory.workload.images import USUAL, Images, images_of
from kapy.providers.inmemory.workload.kubeadm import (
    Settings,
    cluster_configuration,
    ensure_kubeadm_objects,
    ensure_namespaces,
)
from kapy.providers.inmemory.workload.nodes import (
    API_SERVER,
    COMPONENTS,
    CONTROLLER_MANAGER,
    ETCD,
    SCHEDULER,
    drop_node,
    drop_static_pod,
    ensure_node,
    ensure_static_pod,
)
from kapy.providers.inmemory.workload.objects import SYSTEM, Objects
from kapy.providers.inmemory.workload.server import Ports, WorkloadServer
from kapy.sdk import Endpoint


@dataclass(slots=True)
class Milestones:
    """The times at which the parts of a machine were up; None if a part is not up yet. begun: the
    time of the request. registered: the Node was created in this process.
    """

    begun: datetime
    vm: datetime | None = None
    node: datetime | None = None
    registered: bool = False


@dataclass(frozen=True, slots=True)
class Host:
    """A machine as its simulated cluster sees it. uid: the UID of its DevMachine."""

    name: str
    uid: str
    provider_id: str
    version: str
    control_plane: bool


class ApiServer(NamedTuple):
    """The API server of one machine. since: the time when the Node of the machine came up, also
    after a restart (its certificate is as old).
    """

    version: str
    since: datetime


class WorkloadCluster:
    """A workload cluster whose machines are simulated.

    endpoint: its address. authority: the cluster's own CA, None before the first API server starts.
    notice: called when the API server begins or ceases to answer. untidy: called when there is
    something for `housekeeping`. An API server is reached while its machine is a member of the load
    balancer.
    """

    __slots__ = (
        "_api_servers",
        "_clock",
        "_last_revision",
        "_members",
        "_notice",
        "authority",
        "endpoint",
        "etcd",
        "housekeeping",
        "key",
        "machines",
        "objects",
        "ports",
        "server",
        "uid",
    )

    def __init__(
        self,
        key: Key,
        uid: str,
        endpoint: Endpoint,
        *,
        clock: Clock,
        notice: Callable[[Key], None],
        untidy: Callable[[Key], None],
    ) -> None:
        self.key = key
        self.uid = uid
        self.endpoint = endpoint
        self.server = WorkloadServer.in_memory(clock)
        self.objects = Objects(self.server)
        self.etcd = Etcd(uid)
        self.ports = self.server.ports = Ports(self.etcd, clock, self.certificate_end)
        self.machines: dict[str, Milestones] = {}
        self.authority: KeyPair | None = None
        self._api_servers: dict[str, ApiServer] = {}
        self._members: set[str] = set()
        self._clock = clock
        self._notice = notice
        self._last_revision = 0
        ensure_namespaces(self.objects)
        self.housekeeping = Housekeeping(self.server, lambda: untidy(key))
        self.server.on_first_look = self.housekeeping.begin
        TokenCleaner(self.server)

    @property
    def url(self) -> str:
        """URL of the API server, as kubeconfigs have it."""
        return f"https://{self.endpoint.host}:{self.endpoint.port}"

    @property
    def answers(self) -> bool:
        """Whether the load balancer has a member on which an API server runs."""
        return not self._members.isdisjoint(self._api_servers)

    def register(self, name: str) -> None:
        """Add a machine to the members of the load balancer."""
        with self._noticing():
            self._members.add(name)

    def deregister(self, name: str) -> None:
        """Remove a machine from the members of the load balancer."""
        with self._noticing():
            self._members.discard(name)

    def start_node(self, host: Host) -> None:
        """Register the Node of a machine, with the same uid as before a restart of this process."""
        milestones = self.machines.setdefault(host.name, Milestones(self._clock()))
        uid = "" if milestones.registered else _node_uid(host)
        milestones.registered = True
        ensure_node(
            self.objects,
            host.name,
            uid=uid,
            provider_id=host.provider_id,
            version=host.version,
            control_plane=host.control_plane,
            now=self._now(),
        )

    def start_etcd(
        self, host: Host, authority: KeyPair | None, bootstrap_data: bytes = b""
    ) -> None:
        """Add the etcd member of a machine. authority: the CA of etcd's certificates, None without
        TLS."""
        self.ports.etcd_authority = authority
        self.etcd.join(host.name, host.uid)
        self._run(ETCD, host, self._images(bootstrap_data))

    def start_api_server(
        self, host: Host, authority: KeyPair, settings: Settings, bootstrap_data: bytes
    ) -> None:
        """Start the API server of a machine, and create the objects that kubeadm would create."""
        self._ensure_objects(authority, settings, bootstrap_data)
        for component in (API_SERVER, SCHEDULER, CONTROLLER_MANAGER):
            self._run(component, host, self._images(b""))
        if host.name not in self._api_servers:
            reached = self.machines.get(host.name)
            since = (reached.node if reached else None) or self._clock()
            self._serve(host.name, ApiServer(host.version, since))

    def serve(self, name: str, version: str, authority: KeyPair, settings: Settings) -> None:
        """Start an API server that runs on no machine of the cluster, or give it another
        version."""
        self._ensure_objects(authority, settings, b"")
        self._serve(name, ApiServer(version, self._clock()))

    def certificate_end(self, name: str) -> datetime:
        """Return the end of the API server's certificate on a machine, which is as old as the
        server.

        Raises Unreachable.
        """
        if name not in self._api_servers:
            raise Unreachable(f"no API server runs on {name}")
        return self._api_servers[name].since + LEAF_VALIDITY

    def remove(self, name: str) -> None:
        """Remove a machine with its Node, Pods and etcd member."""
        drop_node(self.objects, name)
        for component in COMPONENTS:
            drop_static_pod(self.objects, component, name)
        self.etcd.leave(name)
        self.machines.pop(name, None)
        self.deregister(name)
        if self._api_servers.pop(name, None) is not None:
            self._say_version()

    def transport(self, user: User) -> Transport:
        """Return an in-process transport of a user. Raises Unreachable while no API server runs."""
        ask = self.server.transport(user)

        async def reach(request: Request) -> Reply:
            if not self.answers:
                raise Unreachable(f"no API server answers at {self.url}")
            return await ask(request)

        return reach

    def pack_idle(self, packer: Packer) -> Iterator[None]:
        """Pack the objects that came before the last call, one at each step, and forget the writes
        before it.
        """
        store = self.server.store
        store.history.compact(self._last_revision)
        self._last_revision = store.revision
        yield from store.pack_idle(packer)

    def close(self) -> None:
        """Close the deleted cluster: requests fail, and open watches end."""
        self._api_servers.clear()
        self.server.close()
        self._notice(self.key)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Call `notice` if the block changes whether the API server answers."""
        answered = self.answers
        yield
        if self.answers != answered:
            self._notice(self.key)

    def _say_version(self) -> None:
        """While control plane machines differ, the oldest one speaks."""
        oldest = next(iter(self._api_servers.values()), None)
        self.server.kubernetes = oldest.version if oldest else ""

    def _ensure_objects(
        self, authority: KeyPair, settings: Settings, bootstrap_data: bytes
    ) -> None:
        self.authority = self.ports.authority = authority
        ensure_kubeadm_objects(self.objects, settings, bootstrap_data)

    def _serve(self, name: str, server: ApiServer) -> None:
        with self._noticing():
            self._api_servers[name] = server
            self._say_version()

    def _images(self, bootstrap_data: bytes) -> Images:
        """Return the images from the configuration that kubeadm reads: the cluster's, or that of
        the first machine itself.
        """
        obj = self.objects.get(CONFIG_MAPS, SYSTEM, "kubeadm-config")
        if obj is not None:
            return images_of((obj.get("data") or {}).get("ClusterConfiguration", ""))
        if b"imageTag" not in bootstrap_data and b"imageRepository" not in bootstrap_data:
            return USUAL
        return images_of(cluster_configuration(bootstrap_data) or "")

    def _run(self, component: str, host: Host, images: Images) -> None:
        image, version = images.of(component, host.version), host.version
        ensure_static_pod(
            self.objects, component, host.name, version=version, image=image, now=self._now()
        )

    def _now(self) -> str:
        return stamp(self._clock())


def _node_uid(host: Host) -> str:
    """Return the uid of the first Node of a machine. It is the same in every process."""
    digest = blake2b(f"{host.uid}/node".encode(), digest_size=16).digest()
    return str(UUID(bytes=digest, version=4))
