"""A certificate that cert-manager left behind is replaced before it expires, and no other one."""

from __future__ import annotations

import asyncio
import base64
import re
from datetime import timedelta

from kapy._aio.clock import Clock, loop_clock
from kapy._aio.services import run_services
from kapy.apps.https.authorities import CERTIFICATE_NAME, LEFT_BEHIND
from kapy.apps.https.shared_certificate import SharedCertificate
from kapy.client.client import Client
from kapy.kube import Document, pki
from kapy.kube.names import SECRETS
from tests.apps.https.test_shared import (
    NAMES,
    SECRET,
    SHORT,
    api_server,
    is_shown,
    pem,
    replica,
    secret,
)

LIFE = timedelta(hours=6)
MINUTE = timedelta(minutes=1)
ANNOTATIONS = {
    CERTIFICATE_NAME: "capi-serving-cert",
    "cert-manager.io/issuer-name": "capi-selfsigned-issuer",
    "mine": "kept",
}


def issued(clock: Clock) -> tuple[pki.KeyPair, dict[str, str]]:
    """A certificate of a CA of somebody else, and the data of its Secret."""
    ca = pki.new_ca("theirs", now=clock(), algorithm="ECDSA-P256")
    begins = {"valid": LIFE - pki.BACKDATING, "algorithm": "ECDSA-P256"}
    pair = pki.issue(ca, "serving", now=clock(), names=NAMES, usages=("server",), **begins)  # type: ignore[arg-type]
    texts = {"ca.crt": ca.certificate, "tls.crt": pair.certificate, "tls.key": pair.key}
    return pair, {name: base64.b64encode(text).decode() for name, text in texts.items()}


async def create(client: Client, data: dict[str, str], annotations: dict[str, str]) -> None:
    document = {**secret(data), "type": "kubernetes.io/tls"}
    document["metadata"]["annotations"] = dict(annotations)
    await client.create(SECRETS, document)


async def annotations_of(client: Client) -> dict[str, str]:
    document = await client.get(SECRETS, SECRET)
    return document["metadata"].get("annotations") or {}


async def data_of(client: Client) -> Document:
    data: Document = (await client.get(SECRETS, SECRET))["data"]
    return data


async def bundle_of(client: Client) -> list[str]:
    text = base64.b64decode((await data_of(client))["ca.crt"]).decode()
    return re.findall(r"-----BEGIN.*?-----END [A-Z ]*-----", text, re.DOTALL)


def is_trusted(item: SharedCertificate, bundle: list[str]) -> bool:
    """Whether a CA of the bundle issued what is shown."""
    leaf = pki.load(pem(item))
    for ca in bundle:
        try:
            leaf.verify_directly_issued_by(pki.load(ca.encode()))
        except Exception:
            continue
        return True
    return False


async def sleep(duration: timedelta) -> None:
    await asyncio.sleep(duration.total_seconds())


async def test_a_certificate_that_was_left_behind_is_replaced_in_its_last_sixth() -> None:
    clock = loop_clock()
    pair, data = issued(clock)
    async with api_server(clock) as client:
        await create(client, data, ANNOTATIONS)
        replicas = [replica(client, clock, SHORT, seed) for seed in range(2)]
        await asyncio.gather(*(element.make_valid() for element in replicas))
        async with run_services(one=replicas[0].keep, two=replicas[1].keep):
            await sleep(LIFE * 5 / 6 - pki.BACKDATING - 2 * MINUTE)
            assert await data_of(client) == data
            assert not any(element.is_own_ca for element in replicas)
            await sleep(4 * MINUTE)
            both = await bundle_of(client)
            assert len(both) == 2
            assert all(is_shown(element, pair) and element.is_own_ca for element in replicas)
            assert set(await annotations_of(client)) == {"mine", LEFT_BEHIND}
            await sleep(SHORT.overlap)
            assert await bundle_of(client) == both[1:]
            assert await annotations_of(client) == {"mine": "kept"}
            for item in replicas:
                assert not is_shown(item, pair)
                assert is_trusted(item, both)
            await sleep(2 * SHORT.ca)
            after = await bundle_of(client)
            assert all(element.missing == "" and is_trusted(element, after) for element in replicas)


async def test_a_certificate_that_ended_is_replaced_at_once() -> None:
    clock = loop_clock()
    _, data = issued(clock)
    async with api_server(clock) as client:
        await create(client, data, ANNOTATIONS)
        await sleep(LIFE)
        item = replica(client, clock, SHORT)
        await item.make_valid()
        assert item.missing == ""
        assert is_trusted(item, await bundle_of(client))
        assert await annotations_of(client) == {"mine": "kept"}


async def test_a_certificate_that_ends_soon_is_replaced_when_it_ends() -> None:
    clock = loop_clock()
    pair, data = issued(clock)
    async with api_server(clock) as client:
        await create(client, data, ANNOTATIONS)
        await sleep(LIFE - pki.BACKDATING - SHORT.overlap / 2)
        item = replica(client, clock, SHORT)
        await item.make_valid()
        async with run_services(one=item.keep):
            await sleep(MINUTE)
            both = await bundle_of(client)
            assert is_shown(item, pair)
            await sleep(SHORT.overlap / 2 + MINUTE)
            assert is_trusted(item, both[1:])
            assert item.missing == ""


async def test_a_certificate_of_a_user_is_left_alone() -> None:
    clock = loop_clock()
    pair, data = issued(clock)
    async with api_server(clock) as client:
        await create(client, data, {"mine": "kept"})
        item = replica(client, clock, SHORT)
        await item.make_valid()
        async with run_services(one=item.keep):
            await sleep(2 * LIFE)
            assert is_shown(item, pair)
            assert "and not now: put a new one there" in item.missing
        assert await data_of(client) == data


async def test_a_certificate_that_cert_manager_renews_is_left_to_it() -> None:
    clock = loop_clock()
    pair, data = issued(clock)
    async with api_server(clock) as client:
        await create(client, data, ANNOTATIONS)
        item = replica(client, clock, SHORT)
        await item.make_valid()
        async with run_services(one=item.keep):
            for _ in range(4):
                await sleep(LIFE * 2 / 3)
                pair, data = issued(clock)
                await client.patch(SECRETS, SECRET, {"data": data})
            await sleep(MINUTE)
            assert is_shown(item, pair)
        assert await data_of(client) == data
        assert await annotations_of(client) == ANNOTATIONS


async def test_a_certificate_written_meanwhile_is_used() -> None:
    clock = loop_clock()
    _, data = issued(clock)
    async with api_server(clock) as client:
        await create(client, data, ANNOTATIONS)
        item = replica(client, clock, SHORT)
        await item.make_valid()
        async with run_services(one=item.keep):
            await sleep(LIFE * 5 / 6)
            assert item.is_own_ca
            pair, data = issued(clock)
            without_ca = {name: data[name] for name in ("tls.crt", "tls.key")}
            await client.patch(SECRETS, SECRET, {"data": without_ca})
            await sleep(2 * SHORT.overlap)
            assert is_shown(item, pair)
            assert not item.is_own_ca


async def test_a_secret_that_cannot_be_changed_is_used_to_its_end() -> None:
    clock = loop_clock()
    pair, data = issued(clock)
    async with api_server(clock) as client:
        await create(client, data, ANNOTATIONS)
        await sleep(LIFE * 5 / 6)
        await client.patch(SECRETS, SECRET, {"immutable": True})
        item = replica(client, clock, SHORT)
        async with run_services(one=item.keep):
            await sleep(MINUTE)
            assert is_shown(item, pair)
            assert item.missing == ""
            assert await annotations_of(client) == ANNOTATIONS
