"""Servers that do not accept what a client shows, or that show too old a certificate themselves."""

from __future__ import annotations

import asyncio
import json
import ssl
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from kapy._aio.clock import system_clock
from kapy._aio.services import run_services
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apiserver.serving.tls import load_certificate
from kapy.client.blocking import BlockingApiTransport
from kapy.client.exec_plugin import Credential
from kapy.client.expiry import Expiry
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, pki
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request

ASK = Request("GET", "/api/v1/configmaps")
NOON = datetime.fromisoformat("2026-01-01T12:00:00Z")
DAY = timedelta(days=1)


def token(claims: Document | str) -> str:
    text = claims if isinstance(claims, str) else json.dumps(claims)
    return f"e30.{urlsafe_b64encode(text.encode()).decode().rstrip('=')}.c2lnbmVk"


def authority(now: datetime) -> pki.KeyPair:
    return pki.new_ca("test", now=now - 10 * DAY, algorithm="ECDSA-P256")


def issued(ca: pki.KeyPair, now: datetime, days: int) -> pki.KeyPair:
    """A certificate that ends so many days from now."""
    return pki.issue(
        ca,
        "kapy",
        now=now,
        valid=days * DAY,
        names=["127.0.0.1"],
        organizations=["system:masters"],
        usages=("client", "server"),
        algorithm="ECDSA-P256",
    )


def shown(certificate_days: int | None = None, token: str = "") -> Credential:
    if certificate_days is None:
        return Credential(token)
    pair = issued(authority(NOON), NOON, certificate_days)
    return Credential(token, pair.certificate, pair.key)


@pytest.mark.parametrize(
    ("credential", "ended"),
    [
        (shown(-1), "the client certificate ended at 2025-12-31 12:00:00 UTC"),
        (shown(1), ""),
        (shown(token=token({"exp": NOON.timestamp() - 60})), "the token ended at 2026-01-01 11:59"),
        (shown(token=token({"exp": NOON.timestamp() + 60})), ""),
        (shown(token=token({"sub": "kapy"})), ""),
        (shown(token=token("no JSON")), ""),
        (shown(token=token({"exp": 1e300})), ""),
        (shown(token="s3cret"), ""),
        (shown(token="a.é.c"), ""),
        (Credential(certificate=b"no PEM"), ""),
        (Credential(), ""),
        (shown(-1, token({"exp": 0})), "UTC and the token ended at 1970-01-01"),
    ],
)
def test_an_expired_credential_is_recognized(credential: Credential, ended: str) -> None:
    part = Expiry(credential).expired_part(NOON)
    assert ended in part
    assert bool(part) is bool(ended)


def test_a_refusal_names_the_expired_credential() -> None:
    refused = Reply(401, {"kind": "Status", "message": "Unauthorized", "code": 401}, {"x": "1"})
    assert Expiry(shown(1)).explain_refusal(refused, NOON) is refused
    refusal = Expiry(shown(-1)).explain_refusal(refused, NOON)
    assert (refusal.status, refusal.headers) == (401, {"x": "1"})
    assert isinstance(refusal.body, dict)
    assert refusal.body["message"] == (
        "Unauthorized: the client certificate ended at 2025-12-31 12:00:00 UTC; renew it"
    )


@asynccontextmanager
async def server(context: ssl.SSLContext) -> AsyncIterator[str]:
    here = Server.open(None, clock=system_clock)
    async with (
        run_services(server=here.run),
        listen(Application(here), tls=context) as (host, port),
    ):
        yield f"https://{host}:{port}"
    here.close()


@pytest.mark.sockets
async def test_certificates_that_ended_on_either_side_are_reported_until_there_are_new_ones() -> (
    None
):
    now = system_clock()
    ca = authority(now)
    old, new = issued(ca, now, -1), issued(ca, now, 1)
    context = server_context(old.certificate, old.key, ca.certificate)
    async with server(context) as url:
        access = Kubeconfig(url, ca.certificate, new.certificate, new.key)
        there = ApiTransport(access)
        with pytest.raises(Unreachable, match="not trusted: certificate has expired"):
            await there(ASK)
        load_certificate(context, new.certificate, new.key)
        assert (await there(ASK)).status == 200
        await there.aclose()

        ended = ApiTransport(
            replace(access, client_certificate=old.certificate, client_key=old.key)
        )
        with pytest.raises(Unreachable, match=r"\(the client certificate ended at "):
            await ended(ASK)
        await ended.aclose()


@pytest.mark.sockets
async def test_a_token_that_ended_is_reported_to_commands_and_programs() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"kind":"Status","status":"Failure","message":"Unauthorized","code":401}'
        writer.write(
            b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n"
            + f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        writer.close()

    listening = await asyncio.start_server(refuse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    access = Kubeconfig(url, token=token({"exp": 0}))

    def of_command() -> Reply:
        transport = BlockingApiTransport(access)
        try:
            return asyncio.run(transport(ASK))
        finally:
            transport.close()

    there = ApiTransport(access)
    loop = asyncio.get_running_loop()
    for reply in (await there(ASK), await loop.run_in_executor(None, of_command)):
        assert isinstance(reply.body, dict)
        assert reply.status == 401
        message = "Unauthorized: the token ended at 1970-01-01 00:00:00 UTC; renew it"
        assert reply.body["message"] == message
    await there.aclose()
    listening.close()
