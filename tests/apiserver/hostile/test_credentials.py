"""Whoever cannot prove who they are is nobody, or is refused; and nothing says why to them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator, certificate_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.kube import pki
from tests.apiserver.requester import Asking, running
from tests.waiting import LIMIT

NOW = datetime.now(UTC)  # noqa: TID251
CURVE: Final = "ECDSA-P256"
THEN = NOW - timedelta(days=10)
CA = pki.new_ca("test", now=THEN, algorithm=CURVE)
OTHER = pki.new_ca("test", now=NOW, algorithm=CURVE)
LEAF = pki.issue(CA, "kapy", now=NOW, names=["127.0.0.1"], usages=("server",), algorithm=CURVE)
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
MASTERS = ["system:masters"]
UID = "1.3.6.1.4.1.57683.2"


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """The URL of a server that trusts CA."""
    server = Server.open(None, clock=system_clock)
    tls = server_context(LEAF.certificate, LEAF.key, CA.certificate)
    async with (
        asyncio.TaskGroup() as group,
        listen(Application(server, Authenticator()), tls=tls) as (host, port),
    ):
        running_ = group.create_task(server.run())
        yield f"https://{host}:{port}"
        running_.cancel()
    server.close()


def showing(certificate: pki.KeyPair, folder: Path) -> ssl.SSLContext:
    """A client that shows a certificate."""
    context = ssl.create_default_context(cadata=CA.certificate.decode())
    file = folder / "client.pem"
    file.write_bytes(certificate.certificate + certificate.key)
    context.load_cert_chain(file)
    return context


async def status_of(url: str, tls: ssl.SSLContext) -> int | None:
    """The status code of a request that lists namespaces, None when the connection fails."""
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{url}/api/v1/namespaces", ssl=tls) as reply,
        ):
            return reply.status
    except aiohttp.ClientError:
        return None


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("certificate", "status"),
    [
        (pki.issue(CA, "root", now=NOW, organizations=MASTERS, algorithm=CURVE), 200),
        (pki.issue(CA, "somebody", now=NOW, algorithm=CURVE), 403),
        (pki.issue(OTHER, "root", now=NOW, organizations=MASTERS, algorithm=CURVE), None),
        (pki.issue(CA, "root", now=THEN, valid=timedelta(days=1), organizations=MASTERS), None),
    ],
    ids=["good", "no rights", "another authority", "expired"],
)
async def test_a_certificate_is_valid_or_ignored(
    certificate: pki.KeyPair, status: int | None, tmp_path: Path
) -> None:
    async with served() as url:
        assert await status_of(url, showing(certificate, tmp_path)) == status


@pytest.mark.sockets
@pytest.mark.parametrize(
    "content", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + b"\xff" * 99]
)
async def test_bytes_that_are_not_tls_end_the_connection(content: bytes, tmp_path: Path) -> None:
    good = pki.issue(CA, "root", now=NOW, organizations=MASTERS, algorithm=CURVE)
    async with served() as url:
        host, _, port = url.removeprefix("https://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(content)
        if content:
            async with asyncio.timeout(LIMIT):
                assert b"HTTP" not in await reader.read()
        writer.close()
        assert await status_of(url, showing(good, tmp_path)) == 200


@pytest.mark.parametrize(
    ("subject", "user"),
    [
        ([("commonName", "ann")], ("ann", (), "")),
        (
            [("organizationName", "a"), ("commonName", "ann"), ("organizationName", "b")],
            ("ann", ("a", "b"), ""),
        ),
        ([("commonName", "ann"), ("commonName", "bob")], ("bob", (), "")),
        ([("commonName", "ann"), (UID, "7")], ("ann", (), "7")),
        ([("commonName", "ann"), (UID, "7"), (UID, "8")], None),
        ([("commonName", "")], None),
        ([("organizationName", "system:masters")], None),
        ([], None),
    ],
)
def test_a_certificate_subject_maps_to_user_groups_and_uid(
    subject: list[tuple[str, str]], user: tuple[str, tuple[str, ...], str] | None
) -> None:
    entries = {"subject": tuple((entry,) for entry in subject)}
    result = certificate_user(entries, b"certificate")
    if user is None or result is None:
        assert (user, result) == (None, None)
        return
    name, groups, uid = user
    assert (result.name, result.groups, result.uid) == (
        name,
        (*groups, "system:authenticated"),
        uid,
    )
    (identity,) = result.extra["authentication.kubernetes.io/credential-id"]
    assert identity == f"X509SHA256={hashlib.sha256(b'certificate').hexdigest()}"


async def issued(asking: Asking, name: str, **spec: Any) -> str:
    """A token of a new service account."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    await asking.create(ACCOUNTS, account)
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    result = await asking.create(f"{ACCOUNTS}/{name}/token", wanted)
    return str(result["status"]["token"])


async def accepted(asking: Asking, token: str) -> bool:
    """Whether the server knows whose token it is."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    result = await asking.create(REVIEWS, {**review, "spec": {"token": token}})
    return bool(result["status"].get("authenticated"))


def forged(token: str, **claims: Any) -> str:
    """The token with other claims and the same signature."""
    head, content, signature = token.split(".")
    document = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
    new = (
        base64.urlsafe_b64encode(json.dumps({**document, **claims}).encode()).rstrip(b"=").decode()
    )
    return f"{head}.{new}.{signature}"


def unsigned(token: str) -> str:
    """The token, saying that it needs no signature."""
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    return f"{head}.{token.split('.')[1]}."


async def test_a_token_is_valid_or_refused() -> None:
    async with running() as asking, running() as elsewhere:
        good = await issued(asking, "good")
        assert await accepted(asking, good)
        refused = {
            "one of another server": await issued(elsewhere, "good"),
            "one for another audience": await issued(asking, "distant", audiences=["elsewhere"]),
            "one with other claims": forged(good, sub="system:serviceaccount:default:root"),
            "one without signature": unsigned(good),
            "one cut short": good[:-10],
            "three dots": "...",
            "no base64": "a!.b!.c!",
            "no JSON": "YQ.YQ.YQ",
            "a number": "MQ.MQ.MQ",
            "half a surrogate": "é.é.é",
            "very long": "a." * 50_000 + "b",
        }
        for what, token in refused.items():
            assert not await accepted(asking, token), what


async def test_a_token_expires_with_its_account_and_its_time() -> None:
    async with running() as asking:
        token = await issued(asking, "short", expirationSeconds=600)
        lasting = await issued(asking, "lasting", expirationSeconds=86400)
        await asyncio.sleep(661)  # clocks may differ by a minute
        assert (await accepted(asking, token), await accepted(asking, lasting)) == (False, True)
        await asking.delete(f"{ACCOUNTS}/lasting")
        assert not await accepted(asking, lasting)
        again = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "lasting"}}
        await asking.create(ACCOUNTS, again)
        assert not await accepted(asking, lasting)
