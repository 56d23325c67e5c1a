"""The Transport over the network: HTTP/1.1 and TLS with aiohttp, with a connection pool.

Responses have the same form as in process: JSON is decoded to a document, a watch is an async
iterator of event documents. Every failure to get a response is `Unreachable`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from random import Random
from types import MappingProxyType
from typing import Any, Final, NoReturn
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from kapy import __version__
from kapy._aio.clock import Clock, system_clock
from kapy._aio.limited_read import read_limited
from kapy.client import socks
from kapy.client.credentials import tls_context
from kapy.client.dead_peers import tcp_socket
from kapy.client.exec_plugin import Credential, NoCredentials
from kapy.client.expiry import Expiry
from kapy.client.json_stream import JsonStream
from kapy.client.kubeconfig import Kubeconfig, KubeconfigError
from kapy.client.lines import Lines
from kapy.client.no_answer import NO_ANSWER, describe_failure
from kapy.client.probe_connection import ProbeConnection
from kapy.client.proxies import proxy_for
from kapy.client.renewal import Renewal, renewal, static_credential
from kapy.kube import Document
from kapy.kube.errors import Unauthorized, Unreachable
from kapy.kube.foreign_json import BadJson, decode_json, decode_json_in_pieces
from kapy.kube.http import Reply, Request

TIMEOUT: Final = 30.0
CONNECT_TIMEOUT: Final = 10.0
IDLE_SECONDS: Final = (
    20.0  # seconds; a rush leaves several connections to each of a thousand clusters
)
GRACE_SECONDS: Final = 30.0  # seconds by which a watch may exceed its requested timeout
_ENDS: Final = (
    aiohttp.ClientPayloadError,
    aiohttp.ServerDisconnectedError,
    ConnectionResetError,
)
MAX_RESPONSE_BYTES: Final = 256 << 20
"""Maximum bytes of an answer: a page of the largest objects. Workload clusters have a lower
limit."""
MAX_EVENT_BYTES: Final = 4 << 20
"""Maximum bytes of an event: etcd stores objects of at most 1.5 MB."""
_PLAIN: Final = "/:@!$&'()*+,;=~"
_LONG: Final = 1 << 20


class ApiTransport:
    """A connection pool to one server as one user; use it from one event loop, and `aclose` it.
    Requests after that raise Unreachable: a connection opened by them would stay open.

    Credentials that expire are read again in time, and once more if the server refuses them; then
    the refused request, which was not executed, is repeated. A new client certificate requires new
    connections, also for watches.
    """

    over_network = True

    def __init__(
        self,
        access: Kubeconfig,
        *,
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_RESPONSE_BYTES,
        random: Random | None = None,
        clock: Clock = system_clock,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._base = access.server
        self._access = access
        self._clock = clock
        self._renewal = renewal(access, clock)
        self._renewing: asyncio.Lock | None = None
        self._reading: asyncio.Future[Credential] | None = None
        self._shown = (
            static_credential(access) if self._renewal is None else self._renewal.credential
        )
        self._expiry = Expiry(self._shown)
        self._tls = tls_context(access)
        self._name = access.tls_server_name or None
        proxy = access.proxy or proxy_for(access.server, environ)
        self._socks = socks.proxy_of(proxy) if proxy.startswith(socks.SCHEMES) else None
        self._proxy = None if self._socks is not None else proxy or None
        self._timeout = timeout
        self._most = max_bytes
        self._random = random or Random()
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False
        self._pulse: ProbeConnection | None = None
        self._headers = CIMultiDict(access.impersonate)
        self._headers.update({"accept": "application/json", "user-agent": f"kapy/{__version__}"})
        self._authorize()

    @property
    def host(self) -> str:
        """Host and port of the server, for metrics and messages."""
        return self._base.partition("://")[2].partition("/")[0]

    async def __call__(self, request: Request) -> Reply:
        renewal = self._renewal
        if renewal is not None and (renewal.is_due or self._reading is not None):
            await self._renew()
        used = self._shown
        reply = await self._send_once(request)
        if reply.status != Unauthorized.code:
            return reply
        if renewal is not None and await self._has_new_credential(used):
            reply = await self._send_once(request)
        return reply if reply.status < 400 else self._expiry.explain_refusal(reply, self._clock())

    async def _send_once(self, request: Request) -> Reply:
        query = request.query
        streams = query.get("watch") == "true" or query.get("follow") == "true"
        timeout = aiohttp.ClientTimeout(self._timeout, sock_connect=CONNECT_TIMEOUT)
        if streams:
            query = self._with_watch_timeout(query)
            max_timeout = float(query["timeoutSeconds"]) + GRACE_SECONDS
            timeout = aiohttp.ClientTimeout(max_timeout, sock_connect=CONNECT_TIMEOUT)
        headers = self._headers.copy()
        headers.update(request.headers)
        try:
            response = await self._open_session().request(
                request.method,
                self._url(request.path, query),
                data=_encode(request.body),
                headers=headers,
                timeout=timeout,
                server_hostname=self._name,
                proxy=self._proxy,
                allow_redirects=False,
            )
            if streams and response.status < 400:
                return self._stream(response)
            async with response:
                raw = await read_limited(response.content.iter_any(), self._most)
            response_headers = _lower(response.headers)
            return Reply(
                response.status, await _decode_yielding(raw, response_headers), response_headers
            )
        except NO_ANSWER as error:
            _raise_unreachable(self.host, error, self._expiry.expired_part(self._clock()))
        except RuntimeError as error:  # the session was closed in between; a new one exists
            if "closed" not in str(error):
                raise
            raise Unreachable(f"cannot reach {self.host}: its connections were renewed") from None

    async def probe(self, request: Request) -> Reply:
        """Return the response to a GET without a query, as a check of whether the server is alive.

        It has a kept connection of its own, so it costs a fraction of other requests.
        """
        unusual = self._renewal or self._proxy or self._socks
        if unusual or not isinstance(self._tls, ssl.SSLContext):
            return await self(request)
        self._check_open()
        if self._pulse is None:
            self._pulse = ProbeConnection(self._base, self._tls, self._name, self._headers)
        try:
            status, kind, body = await self._pulse.probe(quote(request.path, safe=_PLAIN))
        except NO_ANSWER as error:
            _raise_unreachable(self.host, error, self._expiry.expired_part(self._clock()))
        headers = {"content-type": kind}
        reply = Reply(status, _decode(body, headers), headers)
        return (
            reply
            if status != Unauthorized.code
            else self._expiry.explain_refusal(reply, self._clock())
        )

    async def aclose(self) -> None:
        """Close all connections, and refuse later requests."""
        self._is_closed = True
        await self._close_connections()

    async def _close_connections(self) -> None:
        pulse, self._pulse = self._pulse, None
        if pulse is not None:
            pulse.close()
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # the event loop closes sockets in its next step

    async def _has_new_credential(self, refused: Credential) -> bool:
        """Return whether another credential than the refused one is available."""
        assert self._renewal is not None
        if self._renewal.may_read(refused):
            await self._renew(refused)
        return self._shown != refused

    async def _renew(self, refused: Credential | None = None) -> None:
        """Read the credentials again, one at a time. Raises NoCredentials."""
        renewal = self._renewal
        assert renewal is not None
        if self._renewing is None:
            self._renewing = asyncio.Lock()
        async with self._renewing:
            wanted = renewal.is_due or (refused is not None and renewal.may_read(refused))
            if not wanted and self._reading is None:
                return  # another task has renewed it
            await self._use_credential(
                renewal.read() if renewal.is_quick else await self._plugin_credential(renewal)
            )

    async def _plugin_credential(self, renewal: Renewal) -> Credential:
        """Return the credential from the exec plugin.

        Concurrent callers share one run of the plugin, and a caller that gives up does not cancel
        it.
        """
        if self._reading is None:
            self._reading = asyncio.get_running_loop().run_in_executor(None, renewal.read)
        try:
            return await asyncio.shield(self._reading)
        finally:
            if self._reading.done():
                self._reading = None

    async def _use_credential(self, credential: Credential) -> None:
        """Use a credential from now on."""
        before, self._shown, self._expiry = self._shown, credential, Expiry(credential)
        self._authorize()
        if credential[1:3] == before[1:3]:
            return
        try:
            self._tls = tls_context(self._access, credential)
        except KubeconfigError as error:
            if self._access.exec is not None:
                raise NoCredentials(str(error)) from None
            return  # only one of both files was replaced yet
        await self._close_connections()

    def _authorize(self) -> None:
        self._headers.pop("authorization", None)
        if self._shown.token:
            self._headers["authorization"] = f"Bearer {self._shown.token}"
        elif self._access.basic:
            self._headers["authorization"] = f"Basic {self._access.basic}"

    def _check_open(self) -> None:
        """Raise Unreachable after `aclose`: a task may still have the transport then."""
        if self._is_closed:
            raise Unreachable(f"the connection to {self.host} was closed")

    def _open_session(self) -> aiohttp.ClientSession:
        self._check_open()
        if self._session is None:
            options: dict[str, Any] = {
                "limit": 0,
                "keepalive_timeout": IDLE_SECONDS,
                "socket_factory": tcp_socket,
            }
            connector = (
                aiohttp.TCPConnector(ssl=self._tls, **options)
                if self._socks is None
                else socks.ProxyConnector(self._socks, ssl=self._tls, **options)
            )
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        address = f"{self._base}{quote(path, safe=_PLAIN)}"
        return URL(f"{address}?{urlencode(query)}" if query else address, encoded=True)

    def _with_watch_timeout(self, query: Mapping[str, str]) -> Mapping[str, str]:
        """Return the query of a watch with a timeout of 5 to 10 minutes, as in client-go.

        A dead connection is thus noticed, and not all watches reconnect at the same time.
        """
        if "timeoutSeconds" in query:
            return query
        return {**query, "timeoutSeconds": str(self._random.randint(300, 600))}

    def _stream(self, response: aiohttp.ClientResponse) -> Reply:
        headers = _lower(response.headers)
        if "json" in headers.get("content-type", ""):
            return Reply(response.status, EventBody(self.host, response), headers)
        return Reply(response.status, _chunks(self.host, response), headers)


class EventBody:
    """The body of a watch: JSON documents, one per line or concatenated.

    If the connection closes between two events, the watch ends as if the server had ended it: load
    balancers close idle connections.
    """

    def __init__(self, host: str, response: aiohttp.ClientResponse) -> None:
        self._host = host
        self._response = response
        self._lines = Lines(MAX_EVENT_BYTES)
        self._spread: JsonStream | None = None

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        lines = self._lines
        try:
            if self._spread is not None:
                return await self._next_event(self._spread)
            while (line := lines.next()) is None:
                lines.feed(await self._chunk(lines))
            event = _event(line)
            if event is None:
                self._spread = JsonStream(line + b"\n" + lines.drain(), MAX_EVENT_BYTES)
                return await self._next_event(self._spread)
            return event
        except NO_ANSWER as error:
            _raise_unreachable(self._host, error)

    async def _next_event(self, events: JsonStream) -> Document:
        try:
            while (event := events.next()) is None:
                events.feed(await self._chunk(events))
        except ValueError as error:
            raise Unreachable(f"{self._host} sent an event that is not JSON: {error}") from None
        return event

    async def _chunk(self, read: Lines | JsonStream) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except _ENDS:
            chunk = b""
        if not chunk:
            if read.has_rest:
                raise Unreachable(f"{self._host} ended the watch in the middle of an event")
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Close the connection, otherwise the server would continue to write to it."""
        _hang_up(self._response)


async def _chunks(host: str, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except NO_ANSWER as error:
        _raise_unreachable(host, error)
    finally:
        _hang_up(response)


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Close a response's connection at once: TLS would wait for the close message of the server."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _raise_unreachable(host: str, error: BaseException, ended: str = "") -> NoReturn:
    besides = f" ({ended})" if ended else ""
    raise Unreachable(f"cannot reach {host}: {describe_failure(error)}{besides}") from error


def _encode(body: Any) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return msgspec.json.encode(body)


def _event(line: bytes) -> Document | None:
    """Return the event in a line, None if the line is not a complete event."""
    try:
        result = decode_json(line)
    except BadJson:
        return None
    return result if isinstance(result, dict) else None


async def _decode_yielding(body: bytes, headers: Mapping[str, str]) -> Document | bytes:
    """Decode a body to a document, if it is one; a long list yields to the event loop in
    between."""
    if len(body) < _LONG or "json" not in headers.get("content-type", ""):
        return _decode(body, headers)
    result: Any = None
    with suppress(BadJson):
        for result in decode_json_in_pieces(body):  # noqa: B007 - the last one counts
            await asyncio.sleep(0)
    return result if isinstance(result, dict) else body


def _decode(body: bytes, headers: Mapping[str, str]) -> Document | bytes:
    if "json" in headers.get("content-type", ""):
        with suppress(BadJson):
            result = decode_json(body)
            if isinstance(result, dict):
                return result
    return body


def _lower(headers: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({name.lower(): value for name, value in headers.items()})
