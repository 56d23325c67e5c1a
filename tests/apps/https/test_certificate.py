"""The certificate of an extension server: made, kept valid, given by others. No sockets."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.https.certificate import (
    LIVES,
    LOOK_SECONDS,
    Certificate,
    GivenCertificate,
    NoCertificate,
    certificate_in,
)
from kapy.kube import pki


def leaf(folder: Path) -> bytes:
    return (folder / "tls.crt").read_bytes()


def shown_by(certificate: Certificate) -> bytes | None:
    """What a client is shown that connects now, as DER."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    client = trusting.wrap_bio(to_client, to_server)
    server = certificate.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return client.getpeercert(binary_form=True)


async def kept(certificate: Certificate, seconds: float) -> None:
    """Let its service run for some time."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await certificate.keep()


async def test_a_certificate_of_an_own_ca_is_made_once(tmp_path: Path) -> None:
    first = await certificate_in(tmp_path / "new", ["127.0.0.1", "ext.example.com"], loop_clock())
    made = leaf(tmp_path / "new")
    assert set(pki.facts(made).names) == {"127.0.0.1", "ext.example.com"}
    second = await certificate_in(tmp_path / "new", ["ext.example.com"], loop_clock())
    assert (leaf(tmp_path / "new"), second.ca) == (made, first.ca)
    modes = [oct(one.stat().st_mode & 0o777) for one in (tmp_path / "new").glob("*.key")]
    assert modes == ["0o600", "0o600"]


async def test_another_name_needs_another_certificate_of_the_same_ca(tmp_path: Path) -> None:
    first = await certificate_in(tmp_path, ["one.example.com"], loop_clock())
    second = await certificate_in(tmp_path, ["two.example.com"], loop_clock())
    assert pki.facts(leaf(tmp_path)).names == ("two.example.com",)
    assert second.ca == first.ca


async def test_it_is_renewed_when_a_third_of_its_life_is_left(tmp_path: Path) -> None:
    certificate = await certificate_in(tmp_path, ["localhost"], loop_clock())
    ca, before = certificate.ca, leaf(tmp_path)
    day = timedelta(days=1).total_seconds()
    await kept(certificate, LIVES.leaf.total_seconds() * 2 / 3 - day)
    assert leaf(tmp_path) == before
    await kept(certificate, 2 * day)
    assert pki.facts(leaf(tmp_path)).not_after > pki.facts(before).not_after
    assert certificate.ca == ca
    assert shown_by(certificate) == ssl.PEM_cert_to_DER_cert(leaf(tmp_path).decode())


def given(folder: Path, common_name: str) -> None:
    clock = loop_clock()
    ca = pki.new_ca("their CA", now=clock(), algorithm="ECDSA-P256")
    pair = pki.issue(ca, common_name, now=clock(), usages=("server",), algorithm="ECDSA-P256")
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


async def test_a_given_certificate_is_left_alone(tmp_path: Path) -> None:
    given(tmp_path, "theirs")
    before = leaf(tmp_path)
    certificate = await certificate_in(tmp_path, ["localhost"], loop_clock())
    assert isinstance(certificate, GivenCertificate)
    await kept(certificate, 3600)
    assert (leaf(tmp_path), certificate.ca) == (before, b"")
    assert not (tmp_path / "ca.key").exists()


async def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    given(tmp_path, "theirs")
    key = (tmp_path / "tls.key").read_bytes()
    given(tmp_path, "another")
    (tmp_path / "tls.key").write_bytes(key)
    with pytest.raises(NoCertificate, match="belong together"):
        await certificate_in(tmp_path, ["localhost"], loop_clock())


async def test_half_of_a_new_pair_is_waited_out(tmp_path: Path) -> None:
    given(tmp_path, "theirs")
    certificate = GivenCertificate(tmp_path)
    key = tmp_path / "tls.key"
    old = key.read_bytes()
    given(tmp_path, "newer")
    new, _ = key.read_bytes(), key.write_bytes(old)
    before = shown_by(certificate)
    await kept(certificate, 2 * LOOK_SECONDS + 1)
    assert shown_by(certificate) == before
    key.write_bytes(new)
    await kept(certificate, LOOK_SECONDS + 1)
    assert shown_by(certificate) == ssl.PEM_cert_to_DER_cert(leaf(tmp_path).decode())


def authority(folder: Path, days: int) -> pki.KeyPair:
    """A given CA, made that many days ago, that is good for 30 days."""
    born = loop_clock()() - timedelta(days=days)
    ca = pki.new_ca("given", now=born, valid=timedelta(days=30), algorithm="ECDSA-P256")
    (folder / "ca.crt").write_bytes(ca.certificate)
    (folder / "ca.key").write_bytes(ca.key)
    return ca


async def test_a_given_ca_signs_as_long_as_it_is_good(tmp_path: Path) -> None:
    ca = authority(tmp_path, days=0)
    certificate = await certificate_in(tmp_path, ["localhost"], loop_clock())
    made = leaf(tmp_path)
    pki.load(made).verify_directly_issued_by(pki.load(ca.certificate))
    await kept(certificate, timedelta(days=29).total_seconds())
    assert (leaf(tmp_path), certificate.ca) == (made, ca.certificate)


async def test_a_given_ca_that_ran_out_is_told(tmp_path: Path) -> None:
    authority(tmp_path, days=31)
    with pytest.raises(NoCertificate, match=r"is good no more: take ca\.crt and ca\.key away"):
        await certificate_in(tmp_path, ["localhost"], loop_clock())


async def test_halves_of_two_authorities_are_told(tmp_path: Path) -> None:
    authority(tmp_path, days=0)
    key = (tmp_path / "ca.key").read_bytes()
    authority(tmp_path, days=0)
    (tmp_path / "ca.key").write_bytes(key)
    with pytest.raises(NoCertificate, match=r"has ca\.crt and ca\.key, but they do not belong"):
        await certificate_in(tmp_path, ["localhost"], loop_clock())
