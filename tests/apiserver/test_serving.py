"""A server on real sockets: TLS, certificates, tokens, streams, limits."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import (
    Authenticator,
    InvalidTokenFile,
    authenticated_user,
    read_tokens,
)
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.kube import pki

pytestmark = pytest.mark.sockets

NOW = datetime.now(UTC)  # noqa: TID251
CA = pki.new_ca("test", now=NOW, algorithm="ECDSA-P256")
LEAF = pki.issue(
    CA, "kapy", now=NOW, names=["127.0.0.1"], usages=("server",), algorithm="ECDSA-P256"
)
ADMIN = pki.issue(CA, "root", now=NOW, organizations=["system:masters"], algorithm="ECDSA-P256")
TOKENS = {
    "good": authenticated_user("admin", ("system:masters",)),
    "weak": authenticated_user("alice"),
}


def _client(tmp_path: Any, certificate: pki.KeyPair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=CA.certificate.decode())
    if certificate is not None:
        file = tmp_path / "client.pem"
        file.write_bytes(certificate.certificate + certificate.key)
        context.load_cert_chain(file)
    return context


@asynccontextmanager
async def served() -> AsyncIterator[tuple[str, Server]]:
    """The URL of a server, and the server."""
    server = Server.open(None, clock=system_clock)
    tls = server_context(LEAF.certificate, LEAF.key, CA.certificate)
    async with (
        asyncio.TaskGroup() as group,
        listen(Application(server, Authenticator(TOKENS)), tls=tls) as (host, port),
    ):
        task = group.create_task(server.run())
        yield f"https://{host}:{port}", server
        task.cancel()
    server.close()


async def test_a_client_certificate_authenticates_its_user(tmp_path: Any) -> None:
    async with served() as (url, _), aiohttp.ClientSession() as session:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        tls = _client(tmp_path, ADMIN)
        async with session.post(url + path, json=body, ssl=tls) as reply:
            user = (await reply.json())["status"]["userInfo"]
        assert (user["username"], "system:masters" in user["groups"]) == ("root", True)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer good", 200),
        ("Bearer weak", 403),
        ("Bearer wrong", 401),
        ("", 403),
        ("Basic x", 403),
    ],
)
async def test_a_token_authenticates_its_user(tmp_path: Any, header: str, status: int) -> None:
    headers = {"Authorization": header} if header else {}
    async with (
        served() as (url, _),
        aiohttp.ClientSession() as session,
        session.get(f"{url}/api/v1/namespaces", headers=headers, ssl=_client(tmp_path)) as reply,
    ):
        assert reply.status == status


async def test_a_certificate_of_another_authority_is_refused(tmp_path: Any) -> None:
    other = pki.new_ca("other", now=NOW, algorithm="ECDSA-P256")
    stranger = pki.issue(
        other, "x", now=NOW, organizations=["system:masters"], algorithm="ECDSA-P256"
    )
    async with served() as (url, _), aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            async with session.get(f"{url}/readyz", ssl=_client(tmp_path, stranger)):
                pass


async def test_a_watch_streams_lines_and_ends_with_the_server(tmp_path: Any) -> None:
    headers = {"Authorization": "Bearer good"}
    async with aiohttp.ClientSession(headers=headers) as session:
        tls = _client(tmp_path)
        async with served() as (url, _):
            path = f"{url}/api/v1/namespaces/default/configmaps"
            async with session.get(path, params={"watch": "true"}, ssl=tls) as stream:
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
                async with session.post(path, json=body, ssl=tls) as result:
                    assert result.status == 201
                event = json.loads(await stream.content.readline())
                assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_a_body_that_is_too_large_is_refused(tmp_path: Any) -> None:
    headers = {"Authorization": "Bearer good"}
    async with served() as (url, _), aiohttp.ClientSession(headers=headers) as session:
        path = f"{url}/api/v1/namespaces/default/configmaps"
        data = b'{"data":{"a":"' + b"x" * (4 * 1024 * 1024) + b'"}}'
        async with session.post(path, data=BytesIO(data), ssl=_client(tmp_path)) as reply:
            assert reply.status == 413


async def test_a_watch_ends_when_its_client_leaves(tmp_path: Any) -> None:
    headers = {"Authorization": "Bearer good"}
    async with served() as (url, server), aiohttp.ClientSession(headers=headers) as session:
        path = f"{url}/api/v1/namespaces/default/configmaps"
        async with session.get(path, params={"watch": "true"}, ssl=_client(tmp_path)) as stream:
            feeds = server.store.table("configmaps").watchers
            assert len(feeds) == 1
            stream.close()
        for _ in range(200):
            if not feeds:
                break
            await asyncio.sleep(0.01)
        assert feeds == []


def test_a_token_file_is_read_as_kube_apiserver_reads_it(tmp_path: Any) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text('t1,ann,1,"a,b"\nt2,bob,2\n')
    tokens = read_tokens(file)
    assert tokens["t1"].groups == ("a", "b", "system:authenticated")
    assert (tokens["t2"].name, tokens["t2"].uid) == ("bob", "2")
    file.write_text("secret-token,bob\n")
    with pytest.raises(InvalidTokenFile) as error:
        read_tokens(file)
    assert "secret-token" not in str(error.value)
