"""The API server of a workload cluster, and the servers on the ports of its static Pods.

The API server reports the Kubernetes version of its cluster. The static Pods serve etcd's gRPC, and
the certificate of the API server. Control plane providers in other processes, such as upstream's,
reach these ports by port forwarding (`pods/portforward`).
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from kapy._aio.byte_streams import ByteStream, Tls
from kapy._aio.clock import Clock
from kapy.apiserver.kubelet.port_forward import Connect, is_port_forward, port_forward
from kapy.apiserver.request.request_info import request_info
from kapy.apiserver.server import ServerWithoutKubelets
from kapy.apiserver.server.error_replies import error_reply
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apiserver.server.non_resource_paths import version
from kapy.apiserver.serving.tls import server_context
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.pki import LEAF_VALIDITY, KeyPair, issue, new_key
from kapy.kube.wire_format import decode_message, encode_message
from kapy.providers.inmemory.workload import usage
from kapy.providers.inmemory.workload.etcd import Etcd
from kapy.remote.etcd_messages import BY_METHOD
from kapy.remote.grpc import INTERNAL, UNIMPLEMENTED, Call, GrpcError, serve_grpc

_DISCOVERY: Final = frozenset(("/api", "/apis"))
_DEPLOYED: Final = ("/deployments", "/replicasets", "/daemonsets")
_PODS: Final = "/pods"
_STATIC: Final = "tier=control-plane"
_OF_NODE: Final = "spec.nodeName="

_NAMESPACE: Final = "kube-system"
_ETCD_PORT: Final = 2379
_API_SERVER_PORT: Final = 6443
_ETCD: Final = "etcd-"
_API_SERVER: Final = "kube-apiserver-"


class WorkloadServer(ServerWithoutKubelets):
    """The API server of a workload cluster. kubernetes: the version (`v1.34.0`), "" before any
    machine runs. ports: the servers in its static pods, None if there are none. on_first_look:
    called with the first request that lists workloads.
    """

    __slots__ = ("kubernetes", "on_first_look", "ports")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kubernetes = ""
        self.ports: Ports | None = None
        self.on_first_look: Callable[[], None] | None = None

    @classmethod
    def in_memory(cls, clock: Clock) -> WorkloadServer:
        """Return a new, empty server. Its resourceVersions start at the milliseconds since 1970,
        above those of a former server at the same address. So a client that resumes a watch of the
        former server gets 410.
        """
        server = cls.open(None, clock=clock)
        assert isinstance(server, cls)
        server.store.set_revision(int(clock().timestamp() * 1000))
        add_kube_controllers(server)
        return server

    async def __call__(self, request: Request) -> Reply:
        """Answer one request whose `user` is set. Failures are Replies, not exceptions."""
        if self.on_first_look is not None and _is_inventory_request(request):
            begin, self.on_first_look = self.on_first_look, None
            begin()
        reply = await super().__call__(request)
        if reply.status == 404 and request.path.startswith(usage.ROOT):
            return usage.answer(self.context, request) or reply
        if usage.is_discovery(request) and reply.status == 200:
            return usage.with_group(reply)
        if request.path == "/version" and self.kubernetes and reply.status == 200:
            major, minor, *_ = self.kubernetes.removeprefix("v").split(".")
            said = {"major": major, "minor": minor, "gitVersion": self.kubernetes}
            said |= {"emulationMajor": major, "emulationMinor": minor}
            return Reply(200, {**version(), **said})
        return reply

    def _kubelet_reply(self, request: Request) -> Reply | None:
        if self.ports is None or not is_port_forward(request):
            return None
        info = request_info(request)
        if not self.ports.has(info.namespace, info.name):
            return None
        try:
            return port_forward(request, self.ports.of(info.namespace, info.name))
        except ApiError as refused:
            return error_reply(refused, request)


def _is_inventory_request(request: Request) -> bool:
    """Return whether a request discovers the API (as kubectl does first), or lists workloads or
    their Pods.
    """
    if request.method != "GET":
        return False
    path = request.path
    if path.endswith(_PODS):
        query = request.query
        of_node = query.get("fieldSelector", "").startswith(_OF_NODE)
        return not of_node and query.get("labelSelector") != _STATIC
    return path in _DISCOVERY or path.endswith(_DEPLOYED)


class Ports:
    """The ports that the simulated static Pods of one cluster listen on: etcd and API servers.

    certificate_end: returns the time when the certificate of the API server on a machine ends;
    raises Unreachable.
    """

    __slots__ = (
        "_certificate_end", "_clock", "_etcd", "_etcd_context", "_key", "authority",
        "etcd_authority",
    )  # fmt: skip

    def __init__(
        self, etcd: Etcd, clock: Clock, certificate_end: Callable[[str], datetime]
    ) -> None:
        self._etcd = etcd
        self._clock = clock
        self._certificate_end = certificate_end
        self._key = b""
        self._etcd_context: tuple[KeyPair, ssl.SSLContext] | None = None
        self.authority: KeyPair | None = None
        self.etcd_authority: KeyPair | None = None

    def has(self, namespace: str, pod: str) -> bool:
        """Return whether anything listens in a pod."""
        return namespace == _NAMESPACE and pod.startswith((_ETCD, _API_SERVER))

    def of(self, namespace: str, pod: str) -> Connect:
        """Return a function that connects to the ports of a Pod."""

        async def connect(port: int, stream: ByteStream) -> None:
            if namespace == _NAMESPACE and pod.startswith(_ETCD) and port == _ETCD_PORT:
                await self._talk_etcd(stream)
            elif (
                namespace == _NAMESPACE and pod.startswith(_API_SERVER) and port == _API_SERVER_PORT
            ):
                await self._show_certificate(pod.removeprefix(_API_SERVER), stream)
            else:
                raise ConnectionRefusedError(f"nothing listens on port {port} of {namespace}/{pod}")

        return connect

    async def _talk_etcd(self, stream: ByteStream) -> None:
        tls = Tls(stream, self._context(), server_side=True)
        await tls.handshake()
        await serve_grpc(tls, self._answer)

    async def _answer(self, call: Call) -> bytes:
        rpc = BY_METHOD.get(call.method)
        if rpc is None:
            raise GrpcError(UNIMPLEMENTED, f"unknown method {call.method}")
        node = call.authority.removeprefix(_ETCD)
        try:
            message = decode_message(rpc.request, call.message)
            reply = await self._etcd.dial(node)(Request("POST", rpc.path, body=message))
        except (Unreachable, ValueError, IndexError) as error:
            raise GrpcError(INTERNAL, str(error)) from None
        assert isinstance(reply.body, dict)
        if reply.status != 200:
            raise GrpcError(int(reply.body["code"]), str(reply.body["message"]))
        return encode_message(rpc.response, reply.body)

    async def _show_certificate(self, node: str, stream: ByteStream) -> None:
        """TLS as of the machine's API server; requests go to the cluster's endpoint."""
        if self.authority is None:
            raise ConnectionRefusedError("no API server runs yet")
        try:
            end = self._certificate_end(node)
        except Unreachable as error:
            raise ConnectionRefusedError(str(error)) from None
        own = self._own_certificate(self.authority, "kube-apiserver", node, end)
        await Tls(stream, server_context(own.certificate, own.key), server_side=True).handshake()

    def _context(self) -> ssl.SSLContext:
        authority = self.etcd_authority
        if authority is None or not authority.key:
            raise ConnectionRefusedError("etcd runs without certificates of its own here")
        if self._etcd_context is None or self._etcd_context[0] != authority:
            own = self._own_certificate(authority, "etcd", "localhost", None)
            context = server_context(own.certificate, own.key, authority.certificate)
            context.verify_mode = ssl.CERT_REQUIRED
            context.set_alpn_protocols(["h2"])
            self._etcd_context = authority, context
        return self._etcd_context[1]

    def _own_certificate(
        self, authority: KeyPair, name: str, host: str, end: datetime | None
    ) -> KeyPair:
        self._key = self._key or new_key("ECDSA-P256")
        now = self._clock()
        return issue(
            authority,
            name,
            now=now,
            names=[host],
            usages=("server", "client"),
            valid=LEAF_VALIDITY if end is None else end - now,
            key=self._key,
        )
