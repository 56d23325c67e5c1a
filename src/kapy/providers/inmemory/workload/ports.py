"""The servers on the ports of static pods: etcd's gRPC, and the API server's certificate.

Control plane providers in other processes, such as upstream's, reach them by port forwarding
(`pods/portforward`).
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import datetime
from typing import Final

from kapy._aio.byte_streams import ByteStream, Tls
from kapy._aio.clock import Clock
from kapy.apiserver.kubelet.port_forward import Connect
from kapy.apiserver.serving.tls import server_context
from kapy.kube.errors import Unreachable
from kapy.kube.http import Request
from kapy.kube.pki import LEAF_VALIDITY, KeyPair, issue, new_key
from kapy.kube.wire_format import decode_message, encode_message
from kapy.providers.inmemory.workload.etcd import Etcd
from kapy.remote.etcd_messages import BY_METHOD
from kapy.remote.grpc import INTERNAL, UNIMPLEMENTED, Call, GrpcError, serve_grpc

NAMESPACE: Final = "kube-system"
ETCD_PORT: Final = 2379
API_SERVER_PORT: Final = 6443
_ETCD: Final = "etcd-"
_API_SERVER: Final = "kube-apiserver-"


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
        return namespace == NAMESPACE and pod.startswith((_ETCD, _API_SERVER))

    def of(self, namespace: str, pod: str) -> Connect:
        """Return a function that connects to the ports of a Pod."""

        async def connect(port: int, stream: ByteStream) -> None:
            if namespace == NAMESPACE and pod.startswith(_ETCD) and port == ETCD_PORT:
                await self._talk_etcd(stream)
            elif namespace == NAMESPACE and pod.startswith(_API_SERVER) and port == API_SERVER_PORT:
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
