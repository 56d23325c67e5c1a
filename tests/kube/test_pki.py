"""Keys and certificates as kubeadm's machines, Go's TLS and Python's TLS want them."""

from __future__ import annotations

import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from kapy.kube import pki

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EC: pki.Algorithm = "ECDSA-P256"


@pytest.fixture(scope="module")
def ca() -> pki.KeyPair:
    return pki.new_ca("kubernetes", now=NOW, algorithm=EC)


@pytest.mark.parametrize(
    ("algorithm", "heading"),
    [
        ("RSA-2048", b"-----BEGIN RSA PRIVATE KEY-----\n"),
        ("ECDSA-P256", b"-----BEGIN EC PRIVATE KEY-----\n"),
        ("ECDSA-P384", b"-----BEGIN EC PRIVATE KEY-----\n"),
    ],
)
def test_keys_have_the_form_that_kubeadm_writes(algorithm: pki.Algorithm, heading: bytes) -> None:
    key = pki.new_key(algorithm)
    assert key.startswith(heading)
    assert pki.public_key(key).startswith(b"-----BEGIN PUBLIC KEY-----\n")


@pytest.mark.parametrize("algorithm", ["RSA-2048", "RSA-3072", "ECDSA-P256", "ECDSA-P384"])
def test_a_ca_signs_itself(algorithm: pki.Algorithm) -> None:
    ca = pki.new_ca("kubernetes", now=NOW, algorithm=algorithm)
    result = pki.load(ca.certificate)
    key = result.public_key()
    digest = result.signature_hash_algorithm
    assert digest is not None
    tbs = _tbs(ca.certificate)
    if isinstance(key, rsa.RSAPublicKey):
        assert key.key_size == int(algorithm.removeprefix("RSA-"))
        key.verify(result.signature, tbs, padding.PKCS1v15(), digest)
    else:
        assert isinstance(key, ec.EllipticCurvePublicKey)
        key.verify(result.signature, tbs, ec.ECDSA(digest))
    assert pki.is_matching_pair(ca)


def test_a_ca_has_the_key_usages_of_kubeadms(ca: pki.KeyPair) -> None:
    extensions = pki.load(ca.certificate).extensions
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert (usage.value.digital_signature, usage.value.key_encipherment) == (True, True)
    assert (usage.value.key_cert_sign, usage.value.crl_sign) == (True, False)
    basic = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    ski = extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    aki = extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert aki.key_identifier == ski.digest
    assert pki.facts(ca.certificate) == pki.Facts(
        common_name="kubernetes",
        organizations=(),
        names=(),
        not_before=NOW - timedelta(minutes=5),
        not_after=NOW + timedelta(days=3650),
        serial=0,
    )


def test_a_leaf_has_its_names_and_usages(ca: pki.KeyPair) -> None:
    leaf = pki.issue(
        ca,
        "kubernetes-admin",
        now=NOW,
        organizations=["system:masters"],
        names=["kubernetes", "10.0.0.1", "::1"],
        usages=["server", "client"],
        algorithm=EC,
    )
    facts = pki.facts(leaf.certificate)
    assert (facts.common_name, facts.organizations) == ("kubernetes-admin", ("system:masters",))
    assert set(facts.names) == {"kubernetes", "10.0.0.1", "::1"}
    assert facts.not_before == NOW - timedelta(minutes=5)
    assert facts.not_after == NOW + timedelta(days=365)
    assert facts.serial > 0
    extensions = pki.load(leaf.certificate).extensions
    usages = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [usage.dotted_string for usage in usages] == ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]
    assert not extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    authority = pki.load(ca.certificate).extensions
    assert (
        extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
        == authority.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    )


def test_a_leaf_ends_with_its_ca() -> None:
    short = pki.new_ca("kubernetes", now=NOW, valid=timedelta(days=30), algorithm=EC)
    leaf = pki.issue(short, "client", now=NOW, algorithm=EC)
    assert pki.facts(leaf.certificate).not_after == NOW + timedelta(days=30)


def test_a_ca_can_be_issued_for_an_existing_key(ca: pki.KeyPair) -> None:
    key = pki.new_key(EC)
    first = pki.issue(ca, "etcd", now=NOW, key=key)
    second = pki.issue(ca, "etcd", now=NOW, key=key)
    assert first.key == second.key == key
    assert first.certificate != second.certificate
    assert pki.is_matching_pair(second)
    assert not pki.is_matching_pair(pki.KeyPair(first.certificate, ca.key))


def test_openssl_trusts_a_leaf_through_its_ca(ca: pki.KeyPair, tmp_path: Path) -> None:
    leaf = pki.issue(ca, "server", now=NOW, names=["server"], usages=["server"], algorithm=EC)
    authority, certificate = tmp_path / "ca.crt", tmp_path / "server.crt"
    authority.write_bytes(ca.certificate)
    certificate.write_bytes(leaf.certificate)
    moment = str(int((NOW + timedelta(days=1)).timestamp()))
    answer = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-attime", moment, "-CAfile", authority, certificate],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_python_loads_a_ca_and_a_leaf_for_tls(ca: pki.KeyPair, tmp_path: Path) -> None:
    leaf = pki.issue(ca, "server", now=NOW, names=["server"], usages=["server"], algorithm=EC)
    chain = tmp_path / "both.pem"
    chain.write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    context.load_verify_locations(cadata=ca.certificate.decode())
    assert [cert["subject"] for cert in context.get_ca_certs()] == [
        ((("commonName", "kubernetes"),),)
    ]


def test_the_hash_of_a_ca_equals_kubeadms_pin(ca: pki.KeyPair, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(ca.certificate)
    answer = subprocess.run(
        "openssl x509 -pubkey -noout -in ca.crt | openssl pkey -pubin -outform der | sha256sum",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = "sha256:" + answer.stdout.split()[0]
    assert pki.public_key_hashes(ca.certificate) == [expected]
    other = pki.new_ca("new", now=NOW, algorithm=EC)
    both = pki.public_key_hashes(other.certificate + ca.certificate)
    assert both == [*pki.public_key_hashes(other.certificate), expected]


@pytest.mark.parametrize(
    "certificate",
    [b"", b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"],
)
def test_an_invalid_certificate_is_reported_without_quoting_it(certificate: bytes) -> None:
    with pytest.raises(pki.InvalidPem):
        pki.public_key_hashes(certificate)
    with pytest.raises(pki.InvalidPem) as caught:
        pki.load(certificate)
    assert "aGVsbG8" not in str(caught.value)


def test_an_invalid_key_is_reported_without_quoting_it(ca: pki.KeyPair) -> None:
    broken = b"-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n"
    with pytest.raises(pki.InvalidPem) as caught:
        pki.issue(pki.KeyPair(ca.certificate, broken), "x", now=NOW)
    assert "c2VjcmV0" not in str(caught.value)


def _tbs(certificate: bytes) -> bytes:
    """The signed part of the certificate as it stands (`load` reads serial number 0 as 1)."""
    loaded = pki.load(certificate).tbs_certificate_bytes
    assert bytes.fromhex("a003020102020101") in loaded[:16]
    return loaded.replace(bytes.fromhex("a003020102020101"), bytes.fromhex("a003020102020100"), 1)


def test_a_ca_that_is_not_valid_yet_is_reported_when_it_issues() -> None:
    ahead = pki.new_ca("kubernetes", now=NOW + timedelta(days=3285), algorithm=EC)
    with pytest.raises(pki.OutsideValidity, match=r"good from 2034-.* clock says 2026-01-01"):
        pki.issue(ahead, "a", now=NOW, algorithm=EC)
    back = pki.backdate_ca(ahead, pki.EARLIEST)
    issued = pki.issue(back, "a", now=NOW, algorithm=EC)
    assert pki.facts(issued.certificate).not_before == pki.EARLIEST
    assert pki.facts(issued.certificate).not_after == NOW + timedelta(days=365)
