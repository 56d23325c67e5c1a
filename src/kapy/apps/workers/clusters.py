"""The simulated clusters of a plane as its workers reach them: over the channel.

Their API servers and etcd members are objects of the plane's process. A worker names the access
once (`DIAL`) and gets a handle; requests then go to the handle.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec

from kapy.apps.workers.channel import DIAL, DIALED, EXPIRY, HANG_UP, Channel
from kapy.client.kubeconfig import Kubeconfig
from kapy.client.reply import document_of
from kapy.kube import Key
from kapy.kube.http import Reply, Request, Transport
from kapy.providers.inmemory import InMemoryClusters
from kapy.remote.cluster_cache import Dial


class _Access(msgspec.Struct, array_like=True):
    """The address of a simulated cluster, and the credentials of the caller. node: the Node of an
    etcd member, "" for the API server.
    """

    server: str
    authority: bytes
    certificate: bytes
    key: bytes
    insecure: bool
    node: str = ""

    @property
    def kubeconfig(self) -> Kubeconfig:
        return Kubeconfig(
            server=self.server,
            certificate_authority=self.authority,
            client_certificate=self.certificate,
            client_key=self.key,
            insecure=self.insecure,
        )


def _request(access: Kubeconfig, node: str = "") -> Request:
    body = _Access(
        access.server,
        access.certificate_authority,
        access.client_certificate,
        access.client_key,
        access.insecure,
        node,
    )
    return Request("POST", "/", body=msgspec.json.encode(body))


class RemoteClusters:
    """The simulated clusters, for the controllers of a worker.

    elsewhere: connects to clusters that are not simulated, None if they cannot be reached.
    """

    def __init__(self, channel: Channel, elsewhere: Dial | None) -> None:
        self._channel = channel
        self._elsewhere = elsewhere
        self._servers: set[str] = set()

    def learn_server(self, url: str, *, exists: bool) -> None:
        """Record the URL of a simulated cluster that was created or deleted."""
        if exists:
            self._servers.add(url)
        else:
            self._servers.discard(url)

    def serves(self, kubeconfig: Kubeconfig) -> bool:
        """Return whether the cluster is simulated."""
        return kubeconfig.server in self._servers

    def dial(self, kubeconfig: Kubeconfig) -> Transport:
        """Connect to an API server."""
        if self._elsewhere is not None and not self.serves(kubeconfig):
            return self._elsewhere(kubeconfig)
        return _Dialed(self._channel, kubeconfig)

    def etcd_dial(self, _: Key, kubeconfig: Kubeconfig, node: str) -> Transport:
        """Connect to the etcd gateway of a control plane machine."""
        return _Dialed(self._channel, kubeconfig, node)

    async def certificate_expiry(self, kubeconfig: Kubeconfig, node: str) -> datetime:
        """Return the expiry time of the API server's certificate on a machine. Raises
        Unreachable.
        """
        answer = document_of(await self._channel.ask(EXPIRY, _request(kubeconfig, node)))
        return datetime.fromisoformat(answer["expiry"])


class _Dialed:
    """A transport to a simulated API server or etcd member."""

    over_network = False

    def __init__(self, channel: Channel, access: Kubeconfig, node: str = "") -> None:
        self._channel = channel
        self._access = access
        self._node = node
        self._handle = ""
        self._opening = asyncio.Lock()

    async def __call__(self, request: Request) -> Reply:
        if not self._handle:
            async with self._opening:
                if not self._handle:
                    reply = await self._channel.ask(DIAL, _request(self._access, self._node))
                    if reply.status >= 400:
                        return reply
                    self._handle = f"{DIALED}{document_of(reply)['handle']}"
        return await self._channel.ask(self._handle, request)

    async def aclose(self) -> None:
        """Let go of the handle."""
        handle, self._handle = self._handle, ""
        if handle:
            self._channel.notify(HANG_UP, handle)


class DialedClusters:
    """The connections of one worker to simulated clusters, in the plane."""

    def __init__(self, clusters: InMemoryClusters) -> None:
        self._clusters = clusters
        self._transports: dict[str, Transport] = {}
        self._number = 0

    def dial(self, request: Request) -> Reply:
        """Connect to a simulated cluster; reply with the handle of the connection. Raises
        Unreachable and Unauthorized.
        """
        access = _access_of(request)
        if access.node:
            way = self._clusters.etcd_dial(Key("", ""), access.kubeconfig, access.node)
        else:
            way = self._clusters.dial(access.kubeconfig)
        self._number += 1
        self._transports[f"{DIALED}{self._number}"] = way
        return Reply(200, {"handle": self._number})

    def transport(self, handle: str) -> Transport | None:
        """Return the transport of a handle, None if it was let go."""
        return self._transports.get(handle)

    def hang_up(self, handle: str) -> None:
        """Let go of a handle."""
        self._transports.pop(handle, None)

    async def certificate_expiry(self, request: Request) -> Reply:
        """Return the expiry time of an API server's certificate. Raises Unreachable."""
        access = _access_of(request)
        end = await self._clusters.certificate_expiry(access.kubeconfig, access.node)
        return Reply(200, {"expiry": end.isoformat()})


def _access_of(request: Request) -> _Access:
    assert isinstance(request.body, bytes)
    return msgspec.json.decode(request.body, type=_Access)
