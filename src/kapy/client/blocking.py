"""A blocking Transport over the network, for commands that send a few requests and end.

It uses one kept connection and only the standard library: importing an asynchronous HTTP client
would take longer than such a command may. It has no watches.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode, urlsplit

import msgspec

from kapy import __version__
from kapy._aio.clock import system_clock
from kapy._aio.without_event_loop import run_without_loop as run_without_loop
from kapy.client.credentials import tls_context
from kapy.client.dead_peers import notice_dead_peer
from kapy.client.exec_plugin import Credential, run_plugin
from kapy.client.kubeconfig import Kubeconfig, KubeconfigError
from kapy.client.proxies import proxy_for
from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.kube.errors import Unauthorized, Unreachable
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.http import Reply, Request

TIMEOUT: Final = 30.0
ATTEMPTS: Final = 5
MAX_RETRY_AFTER: Final = 10  # seconds of Retry-After that a person is kept waiting
_PLAIN: Final = "/:@!$&'()*+,;=~"


class BlockingApiTransport:
    """A connection to one server as one user; call `close` at the end. max_bytes: the maximum size
    of a response.
    """

    over_network = True

    def __init__(
        self, access: Kubeconfig, *, timeout: float = TIMEOUT, max_bytes: int | None = None
    ) -> None:
        parts = urlsplit(access.server)
        self.host = parts.netloc
        self._prefix = parts.path
        self._largest = max_bytes
        credential = Credential(access.token, access.client_certificate, access.client_key)
        if access.exec is not None:
            credential = run_plugin(access.exec)
        self._shown = credential
        self._headers = [("accept", "application/json"), ("user-agent", f"kapy/{__version__}")]
        self._headers += [*access.impersonate, *_authorization(credential, access)]
        context = tls_context(access, credential)
        name = parts.hostname or ""
        if isinstance(context, ssl.SSLContext):
            self._connection: http.client.HTTPConnection = _NamedConnection(
                name,
                parts.port,
                timeout=timeout,
                context=context,
                server_name=access.tls_server_name or name,
            )
        else:
            self._connection = http.client.HTTPConnection(name, parts.port, timeout=timeout)
        # http.client has no other hook for socket options.
        self._connection._create_connection = _dial  # type: ignore[attr-defined]
        if proxy := access.proxy or proxy_for(access.server, os.environ):
            self._tunnel(proxy, name, parts.port)

    def _tunnel(self, proxy: str, name: str, port: int | None) -> None:
        """Connect to the server through a proxy. Raises KubeconfigError."""
        if proxy.startswith("socks"):
            from kapy.client.socks import socket_factory  # slow to import, and seldom needed

            self._connection._create_connection = socket_factory(proxy)  # type: ignore[attr-defined]
            return
        way = urlsplit(proxy)
        if way.scheme != "http" or not isinstance(self._connection, http.client.HTTPSConnection):
            raise KubeconfigError(
                f"{self.host}: this command reaches servers with https:// through proxies with "
                "http:// or socks5:// only"
            )
        headers = {}
        if way.username:
            user = f"{unquote(way.username)}:{unquote(way.password or '')}".encode()
            headers["proxy-authorization"] = f"Basic {b64encode(user).decode()}"
        self._connection.set_tunnel(name, port, headers)
        self._connection.host, self._connection.port = way.hostname or "", way.port or 80

    async def __call__(self, request: Request) -> Reply:
        query = f"?{urlencode(request.query)}" if request.query else ""
        address = f"{self._prefix}{quote(request.path, safe=_PLAIN)}{query}"
        body = request.body
        if body is not None and not isinstance(body, bytes):
            body = msgspec.json.encode(body)
        for _ in range(ATTEMPTS):
            reply = self._answer(request, address, body)
            wait = parse_digits(reply.headers.get("retry-after", ""))
            if reply.status != 429 or wait is None:
                break
            # Blocking is fine: this program has no other tasks.
            time.sleep(min(wait, MAX_RETRY_AFTER))  # noqa: ASYNC251
        return self._explain_refusal(reply) if reply.status == Unauthorized.code else reply

    def _explain_refusal(self, reply: Reply) -> Reply:
        from kapy.client.expiry import Expiry  # most responses are no refusals

        return Expiry(self._shown).explain_refusal(reply, system_clock())

    def _answer(self, request: Request, address: str, body: bytes | None) -> Reply:
        try:
            self._send(request, address, body)
            response = self._connection.getresponse()
            content = response.read(None if self._largest is None else self._largest + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()
            raise Unreachable(f"cannot reach {self.host}: {_reason(error)}") from error
        if self._largest is not None and len(content) > self._largest:
            self._connection.close()
            raise Unreachable(f"the answer is larger than {self._largest} bytes")
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, _decode(content, headers), headers)

    def _send(self, request: Request, address: str, body: bytes | None) -> None:
        """Send a request without `request` of http.client, which takes no header twice."""
        connection = self._connection
        connection.putrequest(request.method, address, skip_accept_encoding=True)
        for name, value in self._headers:
            if name not in request.headers:
                connection.putheader(name, value)
        for name, value in request.headers.items():
            connection.putheader(name, value)
        if body is not None or request.method != "GET":
            connection.putheader("content-length", str(len(body or b"")))
        connection.endheaders(body)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _dial(*arguments: Any) -> socket.socket:
    result = socket.create_connection(*arguments)
    notice_dead_peer(result)
    return result


class _NamedConnection(http.client.HTTPSConnection):
    """A connection to a server whose certificate may have another name than its address."""

    def __init__(self, *arguments: Any, server_name: str, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._server_name = server_name
        self._tls: ssl.SSLContext = more["context"]

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


def _authorization(credential: Credential, access: Kubeconfig) -> Iterator[tuple[str, str]]:
    if credential.token:
        yield "authorization", f"Bearer {credential.token}"
    elif access.basic:
        yield "authorization", f"Basic {access.basic}"


def _decode(content: bytes, headers: Mapping[str, str]) -> Document | bytes:
    if "json" in headers.get("content-type", ""):
        with suppress(BadJson):
            result = decode_json(content)
            if isinstance(result, dict):
                return result
    return content


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    reason = error.strerror if isinstance(error, OSError) else None
    return str(reason or error or type(error).__name__)
