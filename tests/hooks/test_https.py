"""Extensions over real TLS sockets: who is trusted, and what keeps an answer from coming."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import msgspec
import pytest

from kapy._aio.clock import system_clock
from kapy.api.extension_config import ClientConfig, ServiceReference
from kapy.apps.extensions.transport import https_transport
from kapy.apps.settings import ExtensionCalls
from kapy.hooks.blocking_transport import BlockingTransport
from kapy.hooks.https import ClientCertificate, HttpsTransport
from kapy.hooks.transport import LARGEST_ANSWER, NoAnswer
from kapy.kube.pki import Algorithm, KeyPair, issue, new_ca
from tests.client.test_https import proxy

pytestmark = pytest.mark.sockets
NOW: Final = system_clock()
Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]


def authority() -> KeyPair:
    return new_ca("extensions", now=NOW, algorithm="ECDSA-P256")


AUTHORITY: Final = authority()
ANOTHER: Final = authority()


def certificate(of: KeyPair = AUTHORITY, *, name: str = "127.0.0.1", ago: int = 0) -> KeyPair:
    """A server's certificate, good for a minute from so many minutes ago, or for a day."""
    began, valid = NOW - timedelta(minutes=ago), timedelta(minutes=1 if ago else 1440)
    algorithm: Algorithm = "ECDSA-P256"
    return issue(
        of, "server", now=began, names=[name], usages=["server"], valid=valid, algorithm=algorithm
    )


def sending(*parts: bytes) -> Respond:
    async def respond(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return respond


def answer(body: bytes, status: str = "200 OK", more: str = "") -> Respond:
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode()
    return sending(head, body)


async def reset(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
    await writer.drain()
    writer.transport.abort()


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
    for _ in range(4 * LARGEST_ANSWER >> 20):  # far more than anybody should read
        writer.write(b" " * (1 << 20))
        await writer.drain()
        await asyncio.sleep(0)  # a connection that is lost lets nobody else in otherwise


@asynccontextmanager
async def server(
    respond: Respond, own: KeyPair, folder: Path, *, clients: KeyPair | None = None
) -> AsyncIterator[int]:
    """A server with a certificate; its port. clients: whose certificates clients must have."""
    files = folder / "tls.crt", folder / "tls.key"
    files[0].write_bytes(own.certificate)
    files[1].write_bytes(own.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*files)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.certificate.decode())

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
            await respond(writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            return
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


async def post(
    config: ClientConfig, url: str, value: HttpsTransport | None = None, seconds: float = 60
) -> tuple[int, bytes]:
    sender = value or HttpsTransport()
    try:
        async with asyncio.timeout(seconds):
            return await sender(config, url, b"{}")
    finally:
        await sender.aclose()


def trusting(pair: KeyPair, url: str) -> ClientConfig:
    return ClientConfig(url=url, ca_bundle=base64.b64encode(pair.certificate).decode())


OWN = certificate()


@pytest.mark.parametrize(
    ("own", "trusted"),
    [
        pytest.param(OWN, AUTHORITY, id="by its authority"),
        pytest.param(OWN, OWN, id="as it is"),
    ],
)
async def test_a_trusted_server_is_called(own: KeyPair, trusted: KeyPair, tmp_path: Path) -> None:
    async with server(answer(b'{"a": 1}'), own, tmp_path) as port:
        url = f"https://127.0.0.1:{port}"
        assert await post(trusting(trusted, url), url) == (200, b'{"a": 1}')


UNTRUSTED = "tls: failed to verify certificate: x509: "
REFUSALS = [
    pytest.param(
        answer(b""),
        certificate(ANOTHER),
        UNTRUSTED + "certificate signed by unknown authority",
        id="another authority",
    ),
    pytest.param(
        answer(b""), certificate(ago=3), UNTRUSTED + "certificate has expired", id="expired"
    ),
    pytest.param(
        answer(b""),
        certificate(name="example.com"),
        UNTRUSTED + "IP address mismatch, certificate is not valid for '127.0.0.1'.",
        id="another name",
    ),
    pytest.param(reset, OWN, "", id="reset in the middle"),
    pytest.param(endless, OWN, f"the answer is larger than {LARGEST_ANSWER} bytes", id="too large"),
    pytest.param(sending(b"SSH-2.0\r\n\r\n"), OWN, "", id="no HTTP"),
]


@pytest.mark.parametrize(("respond", "own", "said"), REFUSALS)
async def test_failed_calls_are_reported(
    respond: Respond, own: KeyPair, said: str, tmp_path: Path
) -> None:
    async with server(respond, own, tmp_path) as port:
        url = f"https://127.0.0.1:{port}"
        with pytest.raises(NoAnswer) as caught:
            await post(trusting(AUTHORITY, url), url)
    assert str(caught.value)
    assert not said or str(caught.value) == said


async def test_an_address_without_a_server_or_name_is_reported(tmp_path: Path) -> None:
    async with server(answer(b""), OWN, tmp_path) as port:
        pass
    for host, message in (
        (f"127.0.0.1:{port}", f"dial tcp 127.0.0.1:{port}: connect: connection refused"),
        ("nowhere.invalid", "dial tcp: lookup nowhere.invalid: no such host"),
    ):
        url = f"https://{host}"
        with pytest.raises(NoAnswer) as caught:
            await post(trusting(AUTHORITY, url), url)
        assert str(caught.value) == message


async def test_redirects_are_not_followed(tmp_path: Path) -> None:
    elsewhere = answer(b"", "301 Moved Permanently", "location: https://127.0.0.1:1/\r\n")
    async with server(elsewhere, OWN, tmp_path) as port:
        url = f"https://127.0.0.1:{port}"
        assert await post(trusting(AUTHORITY, url), url) == (301, b"")


async def test_a_server_that_sends_a_byte_at_a_time_times_out(tmp_path: Path) -> None:
    async def slowly(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with server(slowly, OWN, tmp_path) as port:
        url = f"https://127.0.0.1:{port}"
        with pytest.raises(TimeoutError):
            await post(trusting(AUTHORITY, url), url, seconds=0.2)


async def test_a_service_is_called_at_its_address_under_its_own_name(tmp_path: Path) -> None:
    own = certificate(name="quota.rules.svc")
    reference = ServiceReference(namespace="rules", name="quota", path="/base", port=443)
    config = trusting(AUTHORITY, "")
    config.url, config.service = "", reference
    url = "https://quota.rules.svc:443/base/hook?timeout=10s"
    async with server(answer(b"{}"), own, tmp_path) as port:
        transport = HttpsTransport({("rules", "quota", 443): f"https://127.0.0.1:{port}"})
        assert await post(config, url, transport) == (200, b"{}")
    for entries, message in (
        ({}, 'service "rules/quota" not found; say where it is: --webhook-service rules/quota='),
        (None, "lookup quota.rules.svc: no such host"),  # in a cluster, where names resolve
    ):
        with pytest.raises(NoAnswer, match=message):
            await post(config, url, https_transport(ExtensionCalls(), entries))


async def test_extensions_may_want_a_certificate(tmp_path: Path) -> None:
    client = issue(ANOTHER, "kapy", now=NOW, usages=["client"], algorithm="ECDSA-P256")
    files = ClientCertificate(tmp_path / "client.crt", tmp_path / "client.key")
    files.certificate.write_bytes(client.certificate)
    files.key.write_bytes(client.key)
    async with server(answer(b"{}"), OWN, tmp_path, clients=ANOTHER) as port:
        url = f"https://127.0.0.1:{port}"
        config = trusting(AUTHORITY, url)
        assert await post(config, url, HttpsTransport(own=files)) == (200, b"{}")
        with pytest.raises(NoAnswer):
            await post(config, url)


async def test_an_invalid_ca_bundle_is_reported() -> None:
    config = ClientConfig(url="https://127.0.0.1:1", ca_bundle=base64.b64encode(b"no").decode())
    with pytest.raises(NoAnswer, match="the caBundle or the client certificate is no PEM"):
        await post(config, config.url)


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = msgspec.json.encode({"path": self.path, "asked": msgspec.json.decode(body)})
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def _answer_twice(there: HTTPServer) -> None:
    for _ in range(2):
        there.handle_request()


async def test_a_blocking_transport_calls_an_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server in a thread of its own, since nobody else gets a turn meanwhile."""
    files = tmp_path / "tls.crt", tmp_path / "tls.key"
    files[0].write_bytes(OWN.certificate)
    files[1].write_bytes(OWN.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*files)
    with HTTPServer(("127.0.0.1", 0), Echo) as there:
        there.socket = context.wrap_socket(there.socket, server_side=True)
        thread = Thread(target=_answer_twice, args=(there,))
        thread.start()
        url = f"https://127.0.0.1:{there.server_port}/base/hook?timeout=10s"
        answer = await BlockingTransport()(trusting(AUTHORITY, url), url, b'{"a":1}')
        monkeypatch.setattr("kapy.hooks.blocking_transport.LARGEST_ANSWER", 10)
        with pytest.raises(NoAnswer, match="the answer is larger than 10 bytes"):
            await BlockingTransport()(trusting(AUTHORITY, url), url, b"{}")
        thread.join()
    request = {"path": "/base/hook?timeout=10s", "asked": {"a": 1}}
    assert (answer.code, msgspec.json.decode(answer.body)) == (200, request)
    with pytest.raises(NoAnswer, match="Connection refused"):
        await BlockingTransport()(trusting(AUTHORITY, url), url, b"{}")
    with pytest.raises(NoAnswer, match="the caBundle is no PEM"):
        await BlockingTransport()(ClientConfig(url=url, ca_bundle="bm8="), url, b"{}")


async def test_a_call_during_shutdown_is_not_answered() -> None:
    closed = HttpsTransport()
    await closed.aclose()
    with pytest.raises(TimeoutError):
        await post(ClientConfig(url="https://127.0.0.1:1"), "https://127.0.0.1:1", closed, 0.01)


@pytest.mark.parametrize(
    ("direct", "way", "said"),
    [
        ("", ["CONNECT extension.invalid:443 HTTP/1.1"], "403, message='Forbidden'"),
        (".invalid", [], "no such host"),
    ],
)
async def test_extensions_are_called_through_proxies(
    direct: str, way: list[str], said: str
) -> None:
    async with proxy(b"HTTP/1.1 403 Forbidden\r\n\r\n") as (url, request):
        sender = HttpsTransport(environ={"HTTPS_PROXY": url, "NO_PROXY": direct})
        there = "https://extension.invalid"
        with pytest.raises(NoAnswer, match=said):
            await post(ClientConfig(url=there), there, sender)
    assert request == way
