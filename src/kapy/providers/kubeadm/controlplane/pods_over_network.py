"""Connections to the static pods of a control plane machine, through the API server.

etcd and the API server of a machine listen only in that machine's network. The cluster's API server
forwards ports (`kapy.remote.port_forward`). Upstream does the same
(`controlplane/kubeadm/internal/proxy`, `internal/etcd`).
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any, Final

from kapy._aio.byte_streams import Tls
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.pki import KeyPair, issue
from kapy.kube.wire_format import decode_message, encode_message
from kapy.remote.cluster_cache import Kubeconfig
from kapy.remote.etcd_messages import BY_PATH
from kapy.remote.grpc import GrpcClient, GrpcError
from kapy.remote.pod_tls import end_of, etcd_context, inspection_context
from kapy.remote.port_forward import port_forward
from kapy.remote.request_throttle import yield_slot
from kapy.remote.secrets import API_SERVER_ETCD_CLIENT, ETCD_CA, key_pair
from kapy.sdk import NotYet, Runtime
from kapy.sdk.certificates import ClusterCertificates

NAMESPACE: Final = "kube-system"
ETCD_PORT: Final = 2379
API_SERVER_PORT: Final = 6443
TIMEOUT: Final = 10.0
"""Seconds for one call, the way to it included. A timer: nothing tells that no answer comes."""

CLIENT: Final = "cluster-api.x-k8s.io"
"""The common name of the control plane provider's client certificate for etcd, as upstream's."""

CLIENT_LIFE: Final = timedelta(days=1)
RENEW_BEFORE: Final = timedelta(hours=12)


class PodsOverNetwork:
    """Connections to the etcd members and API servers of all remote control planes."""

    def __init__(self, runtime: Runtime) -> None:
        self._keychain = ClusterCertificates.of(runtime)
        self._clock = runtime.clock
        self._contexts: dict[Key, tuple[bytes, datetime, ssl.SSLContext]] = {}

    def etcd(self, cluster: Key, access: Kubeconfig, node: str) -> EtcdMember:
        """Return the etcd member on a node, as an `EtcdDial` has it."""
        return EtcdMember(self, cluster, access, node)

    async def certificate_expiry(self, access: Kubeconfig, node: str) -> datetime:
        """Return the end of the API server's certificate on a node. Raises Unreachable."""
        pod = f"kube-apiserver-{node}"
        try:
            with yield_slot():
                async with asyncio.timeout(TIMEOUT), port_forward(access, NAMESPACE, pod) as ports:
                    tls = Tls(ports.stream(API_SERVER_PORT), inspection_context())
                    await tls.handshake()
                    result = tls.session.getpeercert(binary_form=True)
        except (OSError, TimeoutError, ApiError) as error:
            raise Unreachable(
                f"cannot reach kube-apiserver on {node}: {_describe(error)}"
            ) from None
        if result is None:
            raise Unreachable(f"kube-apiserver on {node} shows no certificate")
        return end_of(result)

    async def context(self, cluster: Key) -> ssl.SSLContext:
        """TLS as a client of the cluster's etcd. Raises NotYet, BadSecret, KubeconfigError."""
        secret = await self._keychain.secret(cluster, ETCD_CA)
        if secret is None:
            raise NotYet(f"the etcd CA of Cluster {cluster} is not there yet")
        authority, now = key_pair(secret), self._clock()
        entry = self._contexts.get(cluster)
        if entry is not None and entry[0] == authority.certificate and now < entry[1]:
            return entry[2]
        client = await self._client(cluster, authority, now)
        result = etcd_context(authority.certificate, client)
        renewal = now + CLIENT_LIFE - RENEW_BEFORE
        self._contexts[cluster] = authority.certificate, renewal, result
        return result

    async def _client(self, cluster: Key, authority: KeyPair, now: datetime) -> KeyPair:
        """Return the client certificate: issued by the CA, or the user's if the CA's key is kept
        elsewhere.
        """
        if authority.key:
            return issue(authority, CLIENT, now=now, valid=CLIENT_LIFE, algorithm="ECDSA-P256")
        secret = await self._keychain.secret(cluster, API_SERVER_ETCD_CLIENT)
        if secret is None:
            raise NotYet(f"the etcd client certificate of Cluster {cluster} is not there yet")
        return key_pair(secret)


class EtcdMember:
    """A Transport that sends requests of etcd's HTTP/JSON gateway to one member over gRPC. It
    connects with the first request; `aclose` ends the connection.
    """

    over_network = True

    def __init__(self, pods: PodsOverNetwork, cluster: Key, access: Kubeconfig, node: str) -> None:
        self._pods = pods
        self._cluster = cluster
        self._access = access
        self._node = node
        self._stack = AsyncExitStack()
        self._client: GrpcClient | None = None

    async def __call__(self, request: Request) -> Reply:
        call = BY_PATH[request.path]
        body: Any = request.body
        try:
            with yield_slot():
                async with asyncio.timeout(TIMEOUT):
                    client = self._client or await self._connect()
                    answer = await client.call(call.method, encode_message(call.request, body))
            return Reply(200, decode_message(call.response, answer))
        except GrpcError as error:
            return Reply(500, _failure(error))
        except (OSError, TimeoutError, ApiError, ValueError, IndexError) as error:
            raise Unreachable(f"cannot reach etcd on {self._node}: {_describe(error)}") from None

    async def aclose(self) -> None:
        """End the connection."""
        self._client = None
        await self._stack.aclose()

    async def _connect(self) -> GrpcClient:
        context = await self._pods.context(self._cluster)
        pod = f"etcd-{self._node}"
        ports = await self._stack.enter_async_context(port_forward(self._access, NAMESPACE, pod))
        tls = Tls(ports.stream(ETCD_PORT), context, server_hostname=_endpoint_name(pod))
        await tls.handshake()
        self._client = GrpcClient(tls, pod)
        return self._client


def _endpoint_name(pod: str) -> str | None:
    """Return the pod's name as TLS server name: upstream's in-memory clusters serve many members at
    one address and select by it. None if it is no DNS name.
    """
    return pod if all(0 < len(label) < 64 for label in pod.split(".")) else None


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {TIMEOUT:g} seconds"
    return str(error) or type(error).__name__


def _failure(error: GrpcError) -> Document:
    return {"error": str(error), "code": error.status, "message": str(error)}
