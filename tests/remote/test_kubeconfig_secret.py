"""The kubeconfig Secret: made, read, renewed."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kapy.kube import Document, Key
from kapy.kube.meta import OwnerReference
from kapy.kube.pki import KeyPair, facts, new_ca
from kapy.kube.yaml import load
from kapy.remote.kubeconfig_secret import (
    access,
    kubeconfig_secret,
    moved_data,
    needs_renewal,
    next_renewal,
    renewed_data,
)
from kapy.remote.secrets import BadSecret, secret_value

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
OWNER = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")


@pytest.fixture(scope="module")
def ca() -> KeyPair:
    return new_ca("kubernetes", now=NOW, algorithm="ECDSA-P256")


def made(ca: KeyPair) -> Document:
    return kubeconfig_secret(
        Key("ns", "c1"), "https://10.0.0.1:6443", ca, OWNER, now=NOW, algorithm="ECDSA-P256"
    )


def with_text(text: bytes) -> Document:
    data = {"value": b64encode(text).decode()}
    return {"metadata": {"name": "c1-kubeconfig", "namespace": "ns"}, "data": data}


def test_the_kubeconfig_is_that_of_an_administrator(ca: KeyPair) -> None:
    secret = made(ca)
    assert secret["metadata"]["name"] == "c1-kubeconfig"
    config = load(secret_value(secret, "value") or b"")
    assert config["current-context"] == "c1-admin@c1"
    reached = access(secret)
    assert (reached.server, reached.certificate_authority) == (
        "https://10.0.0.1:6443",
        ca.certificate,
    )
    client = facts(reached.client_certificate)
    assert (client.common_name, client.organizations) == ("kubernetes-admin", ("system:masters",))
    assert client.not_after == NOW + YEAR


def test_a_kubeconfig_follows_its_server(ca: KeyPair) -> None:
    secret = made(ca)
    assert moved_data(secret, "c1", "https://10.0.0.1:6443") is None
    data = moved_data(secret, "c1", "https://10.0.0.2:6443")
    assert data is not None
    before, after = access(secret), access({**secret, "data": data})
    assert after == replace(before, server="https://10.0.0.2:6443")
    with pytest.raises(BadSecret, match='no cluster "c2"'):
        moved_data(secret, "c2", "https://10.0.0.2:6443")
    with pytest.raises(BadSecret, match="cannot be read"):
        moved_data(with_text(b"- x"), "c1", "https://10.0.0.2:6443")


@pytest.mark.parametrize("remaining", [timedelta(days=30), -timedelta(days=30)])
def test_a_kubeconfig_limited_by_its_ca_is_not_renewed_repeatedly(remaining: timedelta) -> None:
    """As in the authority's last months, or with a clock that is years ahead."""
    ca = new_ca("kubernetes", now=NOW, valid=timedelta(days=60), algorithm="ECDSA-P256")
    now = facts(ca.certificate).not_after - remaining
    secret = made(ca)
    data = renewed_data(secret, "c1", ca, now=now, algorithm="ECDSA-P256")
    assert not needs_renewal({**secret, "data": data}, now)


def test_the_kubeconfig_is_renewed_at_half_of_its_life(ca: KeyPair) -> None:
    secret = made(ca)
    half = next_renewal(secret)
    assert half == NOW + YEAR / 2
    assert not needs_renewal(secret, half - timedelta(seconds=1))
    assert needs_renewal(secret, half)
    renewed = {**secret, "data": renewed_data(secret, "c1", ca, now=half, algorithm="ECDSA-P256")}
    assert not needs_renewal(renewed, half)
    assert access(renewed).server == access(secret).server
    assert access(renewed).client_key != access(secret).client_key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"secret: [", "the kubeconfig cannot be read"),
        (b"- secret", "the kubeconfig cannot be read"),
        (b"users: []", "the kubeconfig has no users"),
        (
            b"users: [{name: a, user: {token: secret}}]",
            "failed to decode kubeconfig client certificate",
        ),
    ],
)
def test_an_invalid_kubeconfig_is_reported_without_quoting_it(text: bytes, message: str) -> None:
    with pytest.raises(BadSecret) as refused:
        next_renewal(with_text(text))
    assert str(refused.value) == f"Secret ns/c1-kubeconfig: {message}"


def test_a_secret_without_a_kubeconfig_is_refused() -> None:
    empty = {"metadata": {"name": "c1-kubeconfig", "namespace": "ns"}}
    for read in (access, next_renewal):
        with pytest.raises(BadSecret, match='missing key "value" in secret data'):
            read(empty)


def test_a_kubeconfig_without_its_cluster_is_not_renewed(ca: KeyPair) -> None:
    with pytest.raises(BadSecret, match='the kubeconfig has no cluster "c2"'):
        renewed_data(made(ca), "c2", ca, now=NOW)
