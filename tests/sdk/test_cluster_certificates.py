"""Validation of the certificate Secrets that a user provides for a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Final

import pytest

from kapy.kube.pki import KeyPair, issue, new_ca, new_key, public_key
from kapy.remote.secrets import (
    API_SERVER_ETCD_CLIENT,
    CLUSTER_CA,
    ETCD_CA,
    FRONT_PROXY_CA,
    SERVICE_ACCOUNT,
)
from kapy.sdk.certificates import ClusterCertificate
from kapy.sdk.cluster_certificates import certificate_problem

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
UNREADABLE: Final = "tls.crt holds no certificate in PEM form that can be read"
NO_KEY: Final = "tls.key holds no RSA or EC private key in PEM form that can be read"
MISMATCH: Final = "tls.key is not the private key of the certificate in tls.crt"
NO_AUTHORITY: Final = "the certificate in tls.crt is not one of an authority (CA:TRUE)"
NO_PUBLIC_KEY: Final = "tls.crt holds no public key in PEM form that can be read"
OTHER_PUBLIC_KEY: Final = "tls.key is not the private key of a public key in tls.crt"
GARBAGE: Final = (
    b"",
    b"garbage",
    b"\xff\xfe\x00",
    b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    b"-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n",
    b"-----BEGIN CERTIFICATE-----\n",
    b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
)


@cache
def authority() -> KeyPair:
    return new_ca("mine", now=NOW, algorithm="ECDSA-P256")


@cache
def other_key() -> bytes:
    return new_key("ECDSA-P256")


@cache
def leaf() -> KeyPair:
    return issue(authority(), "leaf", now=NOW, algorithm="ECDSA-P256")


def problem(purpose: str, pair: KeyPair, *, external: bool = False) -> str:
    return certificate_problem(ClusterCertificate(purpose, external=external), pair)


@pytest.mark.parametrize("purpose", [CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA])
def test_an_authority_must_fit_its_key(purpose: str) -> None:
    ca, other = authority(), other_key()
    assert problem(purpose, ca) == ""
    assert problem(purpose, KeyPair(ca.certificate + leaf().certificate, ca.key)) == ""
    assert problem(purpose, KeyPair(ca.certificate, b"")) == ""  # the key may be kept elsewhere
    assert problem(purpose, KeyPair(ca.certificate, other)) == MISMATCH
    assert problem(purpose, KeyPair(ca.certificate, ca.certificate)) == NO_KEY
    assert problem(purpose, leaf()) == NO_AUTHORITY
    for item in GARBAGE:
        assert problem(purpose, KeyPair(item, ca.key)) == UNREADABLE
        assert problem(purpose, KeyPair(ca.certificate, item)) == (NO_KEY if item else "")


def test_keys_of_service_accounts_have_no_certificate() -> None:
    key, other = other_key(), new_key("RSA-2048")
    public = public_key(key)
    assert problem(SERVICE_ACCOUNT, KeyPair(public, key)) == ""
    assert problem(SERVICE_ACCOUNT, KeyPair(public_key(other) + public, key)) == ""  # rotated
    ca = authority()
    assert problem(SERVICE_ACCOUNT, KeyPair(ca.certificate, ca.key)) == ""  # as kubeadm reads it
    assert problem(SERVICE_ACCOUNT, KeyPair(public, other)) == OTHER_PUBLIC_KEY
    for item in GARBAGE:
        assert problem(SERVICE_ACCOUNT, KeyPair(item, key)) == NO_PUBLIC_KEY
        assert problem(SERVICE_ACCOUNT, KeyPair(public, item)) == (NO_KEY if item else "")


def test_an_external_etcd_needs_no_authority() -> None:
    """Its certificate is trusted, and signs nothing here."""
    pair, other = leaf(), other_key()
    for purpose in (ETCD_CA, API_SERVER_ETCD_CLIENT):
        assert problem(purpose, pair, external=True) == ""
        assert problem(purpose, KeyPair(pair.certificate, b""), external=True) == ""
        mixed = KeyPair(pair.certificate, other)
        assert problem(purpose, mixed, external=True) == MISMATCH


def test_keys_may_have_the_forms_that_openssl_writes() -> None:
    """PKCS#8, and EC keys after a block with their parameters."""
    parameters = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    ca = authority()
    assert problem(CLUSTER_CA, KeyPair(ca.certificate, parameters + ca.key)) == ""
    assert problem(CLUSTER_CA, KeyPair(ca.certificate, _pkcs8(ca.key))) == ""


def _pkcs8(key: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization as form

    return form.load_pem_private_key(key, None).private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
