"""Replicas of an extension share an authority in a Secret, and nobody leads."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from random import Random

import pytest

from kapy._aio.clock import Clock, loop_clock, system_clock
from kapy._aio.services import run_services
from kapy.api.extension_config import ClientConfig, ExtensionConfig
from kapy.apiserver.server import Server
from kapy.apps.all_in_one import management_plane
from kapy.apps.extension_server.manifest import extension_config
from kapy.apps.extension_server.serving import serve_extension
from kapy.apps.https.authorities import (
    CLOCK_SECONDS,
    DEFAULT_PERIODS,
    Authorities,
    ValidityPeriods,
    authorities,
    is_valid,
)
from kapy.apps.https.certificate import NoCertificate
from kapy.apps.https.shared_certificate import SharedCertificate
from kapy.client.client import Client
from kapy.hooks import DISCOVERY, Application, Extension
from kapy.hooks.https import HttpsTransport
from kapy.kube import Document, Key, pki
from kapy.kube.errors import NotFound
from kapy.kube.http import ADMIN
from kapy.kube.names import NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.apps.https.test_certificate import shown_by
from tests.stories.test_extensions import OPEN
from tests.waiting import LIMIT

SHORT = ValidityPeriods(timedelta(hours=6), timedelta(hours=1), timedelta(minutes=10))
SECRET = Key("quota-system", "quota-tls")
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SECRET.namespace}}
NAMES = ["127.0.0.1"]


@asynccontextmanager
async def api_server(clock: Clock) -> AsyncIterator[Client]:
    server = Server.open(None, clock=clock)
    try:
        async with run_services(server=server.run):
            client = Client(server.transport(ADMIN))
            await client.create(NAMESPACES, NAMESPACE)
            yield client
    finally:
        server.close()


def replica(
    client: Client, clock: Clock, lives: ValidityPeriods = DEFAULT_PERIODS, seed: int = 0
) -> SharedCertificate:
    return SharedCertificate(client, SECRET, NAMES, clock, Random(seed), lives)


async def held(client: Client) -> Authorities:
    return Authorities.of(await client.get(SECRETS, SECRET))


def signer_of(certificate: SharedCertificate, authorities: Authorities) -> int:
    """Return the index of the authority that signed the certificate presented now."""
    cert = ssl.DER_cert_to_PEM_cert(shown_by(certificate) or b"")
    leaf = pki.load(cert.encode())
    for number, pair in enumerate(authorities.pairs):
        try:
            leaf.verify_directly_issued_by(pki.load(pair.certificate))
        except Exception:
            continue
        return number
    raise AssertionError("nobody of them")


async def test_the_first_of_the_replicas_makes_the_authority() -> None:
    clock = loop_clock()
    async with api_server(clock) as client:
        replicas = [replica(client, clock, seed=seed) for seed in range(3)]
        await asyncio.gather(*(certificate.make_valid() for certificate in replicas))
        authorities = await held(client)
        assert len(authorities.pairs) == 1
        assert [certificate.ca for certificate in replicas] == [authorities.bundle] * 3
        assert [signer_of(certificate, authorities) for certificate in replicas] == [0, 0, 0]
        assert len({shown_by(certificate) for certificate in replicas}) == 3


async def test_a_new_authority_is_trusted_for_a_while_before_it_signs() -> None:
    clock = loop_clock()
    async with api_server(clock) as client:
        replicas = [replica(client, clock, SHORT, seed) for seed in range(2)]
        await asyncio.gather(*(certificate.make_valid() for certificate in replicas))
        first, at_first = await held(client), [shown_by(certificate) for certificate in replicas]
        async with run_services(one=replicas[0].keep, two=replicas[1].keep):
            await asyncio.sleep(timedelta(hours=3, minutes=59).total_seconds())
            before = [shown_by(certificate) for certificate in replicas]
            assert before != at_first
            assert await held(client) == first
            await asyncio.sleep(timedelta(minutes=2).total_seconds())
            both = await held(client)
            assert both.pairs[:-1] == first.pairs
            assert [signer_of(certificate, both) for certificate in replicas] == [0, 0]
            await asyncio.sleep(SHORT.overlap.total_seconds())
            assert [signer_of(certificate, both) for certificate in replicas] == [1, 1]
            assert await held(client) == both
            await asyncio.sleep(timedelta(hours=4).total_seconds())
            last = await held(client)
            assert (len(last.pairs), last.pairs[0]) == (2, both.pairs[1])


async def test_a_secret_that_is_deleted_comes_back_as_it_was() -> None:
    clock = loop_clock()
    async with api_server(clock) as client:
        certificate = replica(client, clock)
        await certificate.make_valid()
        before, data = await held(client), shown_by(certificate)
        async with run_services(one=certificate.keep):
            await asyncio.sleep(1)
            await client.delete(SECRETS, SECRET)
            await asyncio.sleep(60)
            assert await held(client) == before
        assert shown_by(certificate) == data


@pytest.mark.parametrize("days", [-500, 100, 2000])
async def test_a_clock_that_jumps_is_noticed(days: int) -> None:
    """Back: what was made while it was ahead is trusted by nobody until then. Forward: it ended."""
    ahead, right = timedelta(), loop_clock()

    def clock() -> datetime:
        return right() + ahead

    async with api_server(clock) as client:
        replicas = [replica(client, clock, seed=seed) for seed in range(2)]
        await asyncio.gather(*(certificate.make_valid() for certificate in replicas))
        first = await held(client)
        async with run_services(one=replicas[0].keep, two=replicas[1].keep):
            await asyncio.sleep(60)
            ahead = timedelta(days=days)
            assert all(
                "and not now: put a new one there" in certificate.missing
                for certificate in replicas
            )
            await asyncio.sleep(2 * CLOCK_SECONDS)
            assert [certificate.missing for certificate in replicas] == ["", ""]
            authorities = await held(client)
            assert (authorities.pairs[-1] == first.pairs[0]) is (days == 100)
            last = len(authorities.pairs) - 1
            assert [signer_of(certificate, authorities) for certificate in replicas] == [last, last]
            assert all(is_valid(pem(certificate), clock()) for certificate in replicas)


def pem(certificate: SharedCertificate) -> bytes:
    return ssl.DER_cert_to_PEM_cert(shown_by(certificate) or b"").encode()


def given(clock: Clock) -> tuple[pki.KeyPair, dict[str, str]]:
    ca = pki.new_ca("theirs", now=clock(), algorithm="ECDSA-P256")
    pair = pki.issue(ca, "quota", now=clock(), names=NAMES, usages=("server",))
    texts = {"ca.crt": ca.certificate, "tls.crt": pair.certificate, "tls.key": pair.key}
    return pair, {name: base64.b64encode(text).decode() for name, text in texts.items()}


def secret(data: dict[str, str]) -> Document:
    metadata = {"name": SECRET.name, "namespace": SECRET.namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def is_shown(certificate: SharedCertificate, pair: pki.KeyPair) -> bool:
    return shown_by(certificate) == ssl.PEM_cert_to_DER_cert(pair.certificate.decode())


async def test_a_certificate_of_cert_manager_is_used_and_followed() -> None:
    clock = loop_clock()
    pair, data = given(clock)
    async with api_server(clock) as client:
        await client.create(SECRETS, secret(data))
        certificate = replica(client, clock)
        await certificate.make_valid()
        assert is_shown(certificate, pair)
        async with run_services(one=certificate.keep):
            await asyncio.sleep(1)
            newer, data = given(clock)
            half = {**data, "tls.key": base64.b64encode(pair.key).decode()}
            for content, key_pair in ((half, pair), (data, newer)):
                await client.patch(SECRETS, SECRET, {"data": content})
                await asyncio.sleep(1)
                assert is_shown(certificate, key_pair)
            assert (await client.get(SECRETS, SECRET))["data"] == data


async def test_a_namespace_that_is_missing_is_reported() -> None:
    clock = loop_clock()
    async with api_server(clock) as client:
        elsewhere = SharedCertificate(client, Key("nowhere", "quota-tls"), NAMES, clock, Random(0))
        with pytest.raises(NotFound, match="nowhere"):
            await elsewhere.make_valid()


@pytest.mark.parametrize(
    "data",
    [{"ca.crt": "bm9uZQ=="}, {"ca.crt": "", "ca.key": ""}, {"tls.crt": "eA==", "tls.key": "eA=="}],
)
async def test_a_secret_of_something_else_is_left_alone(data: dict[str, str]) -> None:
    clock = loop_clock()
    async with api_server(clock) as client:
        await client.create(SECRETS, secret(data))
        with pytest.raises(NoCertificate, match="delete it, and a new authority is made"):
            await replica(client, clock).make_valid()
        assert (await client.get(SECRETS, SECRET))["data"] == data


@pytest.mark.sockets
async def test_no_call_fails_while_all_replicas_and_their_authority_change() -> None:
    """An authority that is due when they start; who calls trusts what core was told to."""
    ahead = timedelta()

    def clock() -> datetime:
        return system_clock() + ahead

    old = authorities(clock() - DEFAULT_PERIODS.ca * 2 / 3, DEFAULT_PERIODS)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        plane = await enter(management_plane(OPEN, clock=system_clock, random=Random(0)))
        client = plane.client
        await client.create(NAMESPACES, NAMESPACE)
        await client.create(SECRETS, secret(old.data))
        replicas = [replica(client, clock, seed=seed) for seed in range(2)]
        await replicas[0].make_valid()
        new = await held(client)
        assert new.pairs[:-1] == old.pairs
        await replicas[1].make_valid()
        assert [signer_of(certificate, new) for certificate in replicas] == [0, 0]
        servers = [
            await enter(serve_extension(Application(Extension()), certificate))
            for certificate in replicas
        ]
        urls = [f"https://{host}:{port}" for host, port in servers]
        config = extension_config("quota", urls[0], b"", secret=str(SECRET))
        await client.create(ExtensionConfig.RESOURCE, config)
        bundle = base64.b64encode(new.bundle).decode()
        await Story(client, [ExtensionConfig.RESOURCE]).until(
            ExtensionConfig,
            "quota",
            lambda value: value.spec.client_config.ca_bundle == bundle,
            namespace="",
            within=LIMIT,
        )
        await _called(client, urls)
        ahead = DEFAULT_PERIODS.overlap
        await client.patch(SECRETS, SECRET, {"metadata": {"labels": {"looked": "at"}}})
        async with asyncio.timeout(LIMIT):
            while [signer_of(certificate, new) for certificate in replicas] != [1, 1]:
                await _called(client, urls)
        await _called(client, urls)


async def _called(client: Client, urls: Iterable[str]) -> None:
    """Call each replica over a connection of its own. Raises NoAnswer."""
    config = await client.get(ExtensionConfig, Key("", "quota"))
    for url in urls:
        post = HttpsTransport()
        try:
            where = ClientConfig(url=url, ca_bundle=config.spec.client_config.ca_bundle)
            answer = await post(where, url + DISCOVERY.path(), b"{}")
        finally:
            await post.aclose()
        assert answer.code == 200
