"""The certificate of an extension server: made, kept valid, given by others. No sockets."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.https.authorities import CLOCK_SECONDS, is_valid
from kapy.apps.https.certificate import (
    POLL_SECONDS,
    VALIDITY_PERIODS,
    Certificate,
    NoCertificate,
    SuppliedCertificate,
    certificate_in,
)
from kapy.kube import pki


def leaf(folder: Path) -> bytes:
    return (folder / "tls.crt").read_bytes()


def shown_by(certificate: Certificate) -> bytes | None:
    """Return the certificate that the server presents to a new client, in DER form."""
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
    data = leaf(tmp_path / "new")
    assert set(pki.facts(data).names) == {"127.0.0.1", "ext.example.com"}
    second = await certificate_in(tmp_path / "new", ["ext.example.com"], loop_clock())
    assert (leaf(tmp_path / "new"), second.ca) == (data, first.ca)
    modes = [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "new").glob("*.key")]
    assert modes == ["0o600", "0o600"]


async def test_another_name_needs_another_certificate_of_the_same_ca(tmp_path: Path) -> None:
    first = await certificate_in(tmp_path, ["one.example.com"], loop_clock())
    second = await certificate_in(tmp_path, ["two.example.com"], loop_clock())
    assert pki.facts(leaf(tmp_path)).names == ("two.example.com",)
    assert second.ca == first.ca


class Ahead:
    """A clock that can be set forward."""

    def __init__(self) -> None:
        self._clock = loop_clock()
        self.days = 0.0

    def __call__(self) -> datetime:
        return self._clock() + timedelta(days=self.days)


async def test_a_certificate_is_renewed_at_two_thirds_of_its_life(tmp_path: Path) -> None:
    clock = Ahead()
    certificate = await certificate_in(tmp_path, ["localhost"], clock)
    ca, before = certificate.ca, leaf(tmp_path)
    clock.days = VALIDITY_PERIODS.leaf.days * 2 / 3 - 1 / 24
    await kept(certificate, timedelta(minutes=59).total_seconds())
    assert leaf(tmp_path) == before
    await kept(certificate, timedelta(minutes=2).total_seconds())
    assert pki.facts(leaf(tmp_path)).not_after > pki.facts(before).not_after
    assert certificate.ca == ca
    assert shown_by(certificate) == ssl.PEM_cert_to_DER_cert(leaf(tmp_path).decode())


@pytest.mark.parametrize("days", [100, 3000])
async def test_a_clock_that_is_set_forward_is_noticed(tmp_path: Path, days: int) -> None:
    """As that of a machine that began before it knew the time, or slept."""
    clock = Ahead()
    certificate = await certificate_in(tmp_path, ["localhost"], clock)
    ca = certificate.ca
    clock.days = days
    await kept(certificate, 2 * CLOCK_SECONDS)
    assert is_valid(leaf(tmp_path), clock())
    assert shown_by(certificate) == ssl.PEM_cert_to_DER_cert(leaf(tmp_path).decode())
    assert certificate.ca == ca


def given(folder: Path, common_name: str, days: int = 365) -> None:
    clock = loop_clock()
    ca = pki.new_ca("their CA", now=clock(), algorithm="ECDSA-P256")
    pair = pki.issue(
        ca,
        common_name,
        now=clock(),
        usages=("server",),
        valid=timedelta(days=days),
        algorithm="ECDSA-P256",
    )
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


def mounted(volume: Path, common_name: str) -> None:
    """As a kubelet mounts a Secret, and renews it: links to a folder that is another one then."""
    there = volume / f"..{common_name}"
    there.mkdir(parents=True)
    given(there, common_name)
    new = volume / "..data_tmp"
    new.symlink_to(there.name)
    new.rename(volume / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (volume / name).is_symlink():
            (volume / name).symlink_to(f"..data/{name}")


def counts(certificate: Certificate) -> dict[str, float]:
    """Return the counters of the certificate's reads, by name."""
    samples = (sample for metric in certificate.reads.collect() for sample in metric.samples)
    return {sample.name: sample.value for sample in samples if sample.name.endswith("_total")}


async def test_a_given_certificate_is_left_alone(tmp_path: Path) -> None:
    given(tmp_path, "theirs")
    before = leaf(tmp_path)
    certificate = await certificate_in(tmp_path, ["localhost"], loop_clock())
    assert isinstance(certificate, SuppliedCertificate)
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


async def test_a_new_certificate_is_not_loaded_before_its_key(tmp_path: Path) -> None:
    given(tmp_path, "theirs")
    certificate = SuppliedCertificate(tmp_path, loop_clock())
    key = tmp_path / "tls.key"
    old = key.read_bytes()
    given(tmp_path, "newer")
    new, _ = key.read_bytes(), key.write_bytes(old)
    before = shown_by(certificate)
    await kept(certificate, 2 * POLL_SECONDS + 1)
    assert shown_by(certificate) == before
    reads = "certwatcher_read_certificate"
    assert counts(certificate) == {f"{reads}_total": 3, f"{reads}_errors_total": 2}
    key.write_bytes(new)
    await kept(certificate, POLL_SECONDS + 1)
    assert shown_by(certificate) == ssl.PEM_cert_to_DER_cert(leaf(tmp_path).decode())
    (tmp_path / "tls.crt").unlink()
    await kept(certificate, POLL_SECONDS + 1)
    assert counts(certificate) == {f"{reads}_total": 5, f"{reads}_errors_total": 3}


async def test_a_secret_that_is_mounted_is_followed(tmp_path: Path) -> None:
    mounted(tmp_path, "first")
    certificate = await certificate_in(tmp_path, (), loop_clock())
    for name in ("second", "third"):
        mounted(tmp_path, name)
        await kept(certificate, POLL_SECONDS + 1)
        assert shown_by(certificate) == ssl.PEM_cert_to_DER_cert(leaf(tmp_path).decode())


async def test_a_given_certificate_that_ran_out_is_reported_until_there_is_another(
    tmp_path: Path,
) -> None:
    given(tmp_path, "theirs", days=2)
    clock = Ahead()
    certificate = await certificate_in(tmp_path, (), clock)
    assert certificate.missing == ""
    clock.days = 3
    await kept(certificate, POLL_SECONDS + 1)
    assert certificate.missing == (
        f"{tmp_path / 'tls.crt'} is good from 2025-12-31 23:55:00 to 2026-01-03 00:00:00 UTC, and "
        "not now: put a new one there"
    )
    given(tmp_path, "theirs")
    await kept(certificate, POLL_SECONDS + 1)
    assert certificate.missing == ""


def authority(folder: Path, days: int) -> pki.KeyPair:
    """A given CA, made that many days ago, that is good for 30 days."""
    born = loop_clock()() - timedelta(days=days)
    ca = pki.new_ca("given", now=born, valid=timedelta(days=30), algorithm="ECDSA-P256")
    (folder / "ca.crt").write_bytes(ca.certificate)
    (folder / "ca.key").write_bytes(ca.key)
    return ca


async def test_a_given_ca_signs_as_long_as_it_is_good(tmp_path: Path) -> None:
    ca, clock = authority(tmp_path, days=0), Ahead()
    certificate = await certificate_in(tmp_path, ["localhost"], clock)
    data = leaf(tmp_path)
    pki.load(data).verify_directly_issued_by(pki.load(ca.certificate))
    clock.days = 29
    await kept(certificate, 2 * CLOCK_SECONDS)
    assert (leaf(tmp_path), certificate.ca) == (data, ca.certificate)


async def test_a_given_ca_that_ran_out_is_reported(tmp_path: Path) -> None:
    authority(tmp_path, days=31)
    with pytest.raises(NoCertificate, match=r"is not good at .*, take ca\.crt and ca\.key away"):
        await certificate_in(tmp_path, ["localhost"], loop_clock())


async def test_a_key_of_another_certificate_is_reported(tmp_path: Path) -> None:
    authority(tmp_path, days=0)
    key = (tmp_path / "ca.key").read_bytes()
    authority(tmp_path, days=0)
    (tmp_path / "ca.key").write_bytes(key)
    with pytest.raises(NoCertificate, match=r"has ca\.crt and ca\.key, but they do not belong"):
        await certificate_in(tmp_path, ["localhost"], loop_clock())
