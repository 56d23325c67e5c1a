"""Names and contents of a cluster's Secrets."""

from __future__ import annotations

from base64 import b64encode

import pytest

from kapy.kube import Document, Key
from kapy.kube.meta import OwnerReference
from kapy.kube.pki import KeyPair
from kapy.remote.secrets import (
    BadSecret,
    InvalidSecretName,
    certificate_secret,
    has_purpose_suffix,
    key_pair,
    parse_secret_name,
    secret_name,
    secret_value,
)


def secret(**data: str) -> Document:
    return {"metadata": {"name": "c1-ca", "namespace": "ns"}, "data": data}


@pytest.mark.parametrize("purpose", ["ca", "etcd", "proxy", "sa", "kubeconfig"])
def test_a_secret_name_is_parsed_into_cluster_and_purpose(purpose: str) -> None:
    name = secret_name("my-cluster", purpose)
    assert parse_secret_name(name) == ("my-cluster", purpose)
    assert has_purpose_suffix(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nodash", '"nodash" is not a valid cluster secret name. The purpose suffix is missing'),
        ("c1-other", '"c1-other" is not a valid cluster secret name. Invalid purpose suffix'),
        (
            "c1-apiserver-etcd-client",
            '"c1-apiserver-etcd-client" is not a valid cluster secret name. Invalid purpose suffix',
        ),
        ('a"-x', '"a\\"-x" is not a valid cluster secret name. Invalid purpose suffix'),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidSecretName) as refused:
        parse_secret_name(name)
    assert str(refused.value) == message


def test_a_certificate_survives_its_secret() -> None:
    pair = KeyPair(b"certificate", b"key")
    owner = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
    document = certificate_secret(Key("ns", "c1"), "ca", pair, owner)
    assert document["type"] == "cluster.x-k8s.io/secret"
    assert document["metadata"] == {
        "name": "c1-ca",
        "namespace": "ns",
        "labels": {"cluster.x-k8s.io/cluster-name": "c1"},
        "ownerReferences": [{"apiVersion": "a/v1", "kind": "K", "name": "n", "uid": "u"}],
    }
    assert key_pair(document) == pair


def test_missing_or_unreadable_data_is_reported_without_quoting_it() -> None:
    with pytest.raises(BadSecret, match=r"Secret ns/c1-ca: missing data for key tls\.crt"):
        key_pair(secret())
    with pytest.raises(BadSecret) as refused:
        secret_value(secret(value="hidden!"), "value")
    assert "hidden" not in str(refused.value)


def test_a_key_that_is_kept_elsewhere_is_empty() -> None:
    only = secret(**{"tls.crt": b64encode(b"certificate").decode()})
    assert key_pair(only) == KeyPair(b"certificate", b"")
