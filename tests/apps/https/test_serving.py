"""An extension on a real socket with real TLS, and where it is found."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.serving import acceptor
from kapy.apiserver.serving.connection_limit import ConnectionLimit
from kapy.apps.extension_server.loading import application_at
from kapy.apps.extension_server.serving import serve_extension
from kapy.apps.https.certificate import (
    NoCertificate,
    certificate_in,
    require_clients_of,
)
from kapy.apps.https.serving import NoAddress
from kapy.apps.modules import NoModule
from kapy.hooks import (
    BEFORE_CLUSTER_CREATE,
    DISCOVERY,
    Application,
    BeforeClusterCreateRequest,
    Extension,
    RetryResponse,
)
from kapy.kube import pki

PATH = BEFORE_CLUSTER_CREATE.path("quota")
BODY = BEFORE_CLUSTER_CREATE.encode_request(BeforeClusterCreateRequest(cluster={}))


def quota(value: asyncio.Event | None = None, hold: asyncio.Event | None = None) -> Application:
    """An extension that says when it is asked, and answers when it may."""
    extension = Extension()

    @extension.handles(BEFORE_CLUSTER_CREATE, name="quota")
    async def quota(request: BeforeClusterCreateRequest) -> RetryResponse:
        if value is not None and hold is not None:
            value.set()
            await hold.wait()
        return RetryResponse.wait(60, "no quota")

    return Application(extension)


@asynccontextmanager
async def session(ca: bytes, own: Path | None = None) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cadata=ca.decode())
    if own is not None:
        context.load_cert_chain(own)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as opened:
        yield opened


async def message_of(client: aiohttp.ClientSession, port: int) -> Any:
    async with client.post(f"https://127.0.0.1:{port}{PATH}", data=BODY) as answer:
        return (await answer.json())["message"]


@pytest.mark.sockets
async def test_the_server_is_called_over_tls_with_its_own_ca(tmp_path: Path) -> None:
    certificate = await certificate_in(tmp_path, ["127.0.0.1"], system_clock)
    async with (
        serve_extension(quota(), certificate) as (host, port),
        session(certificate.ca) as client,
    ):
        assert await message_of(client, port) == "no quota"
        async with client.post(f"https://{host}:{port}{DISCOVERY.path()}", data=b"{}") as answer:
            assert [handler["name"] for handler in (await answer.json())["handlers"]] == ["quota"]
        with pytest.raises(NoAddress, match=f"cannot listen on 127.0.0.1 port {port}"):
            async with serve_extension(quota(), certificate, port=port):
                pass


@pytest.mark.sockets
async def test_calls_under_way_finish_when_it_stops(tmp_path: Path) -> None:
    certificate = await certificate_in(tmp_path, ["127.0.0.1"], system_clock)
    event, hold = asyncio.Event(), asyncio.Event()
    application = quota(event, hold)
    async with session(certificate.ca) as client, asyncio.TaskGroup() as group:
        async with serve_extension(application, certificate) as (_, port):
            call = group.create_task(message_of(client, port))
            await event.wait()
            asyncio.get_running_loop().call_later(0.2, hold.set)
        assert await call == "no quota"
    assert not application.ready


@pytest.mark.sockets
async def test_idle_connections_do_not_block_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = ConnectionLimit(16)
    monkeypatch.setattr(acceptor, "process_limit", lambda: limit)
    certificate = await certificate_in(tmp_path, ["127.0.0.1"], system_clock)
    async with serve_extension(quota(), certificate) as address, AsyncExitStack() as stack:
        async with session(certificate.ca) as client:
            assert await message_of(client, address[1]) == "no quota"
            for _ in range(100):
                _, writer = await asyncio.open_connection(*address)
                stack.callback(writer.close)
            assert await message_of(client, address[1]) == "no quota"
        async with session(certificate.ca) as new:
            assert await message_of(new, address[1]) == "no quota"
        assert limit.open <= 16


@pytest.mark.sockets
async def test_only_clients_of_an_authority_are_let_in(tmp_path: Path) -> None:
    certificate = await certificate_in(tmp_path / "server", ["127.0.0.1"], system_clock)
    ca = pki.new_ca("clients", now=system_clock(), algorithm="ECDSA-P256")
    own = pki.issue(ca, "kapy", now=system_clock(), algorithm="ECDSA-P256")
    for name, content in (("ca.crt", ca.certificate), ("me.pem", own.certificate + own.key)):
        (tmp_path / name).write_bytes(content)
    serve = serve_extension(quota(), certificate, client_ca=tmp_path / "ca.crt")
    async with serve as (_, port), session(certificate.ca) as stranger:
        with pytest.raises(aiohttp.ClientError):
            await message_of(stranger, port)
        async with session(certificate.ca, own=tmp_path / "me.pem") as client:
            assert await message_of(client, port) == "no quota"


async def test_a_file_without_an_authority_is_reported(tmp_path: Path) -> None:
    certificate = await certificate_in(tmp_path, ["127.0.0.1"], system_clock)
    with pytest.raises(NoCertificate, match="has no certificate of an authority"):
        require_clients_of(tmp_path / "tls.key", certificate)


MODULE = """
from kapy.hooks import Application, Extension
extension = Extension()
mounted = Application(extension)
number = 5
"""


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("no_such_module_here", "there is no module no_such_module_here"),
        ("found_extension:nothing", "has no nothing; there is extension, mounted"),
        ("found_extension:number", "is int; it has to be a kapy.hooks.Extension"),
        ("broken_extension", "broken_extension cannot be imported"),
        ("needing_extension", "needing_extension needs no_such_library"),
        ("wrong_extension", "handler name Gate is not valid"),
        ("wrong_extension", "(ValueError in {folder}/wrong_extension.py, line 2)"),
    ],
)
def test_a_missing_extension_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, sentence: str
) -> None:
    (tmp_path / "found_extension.py").write_text(MODULE)
    (tmp_path / "broken_extension.py").write_text("def (")
    (tmp_path / "needing_extension.py").write_text("import no_such_library")
    wrong = (
        'from kapy.hooks import *\nExtension().handles(BEFORE_CLUSTER_CREATE, name="Gate")(None)'
    )
    (tmp_path / "wrong_extension.py").write_text(wrong)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NoModule) as refused:
        application_at(place)
    assert sentence.format(folder=tmp_path) in str(refused.value)


def test_an_extension_or_its_application_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "another_extension.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    application = application_at("another_extension")
    assert application.extension is application_at("another_extension:mounted").extension
