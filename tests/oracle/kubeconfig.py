"""The Secrets of a cluster: their names, and the certificates that are made for them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from kapy._aio.clock import EPOCH
from kapy.kube import Key
from kapy.kube.meta import OwnerReference
from kapy.kube.pki import KeyPair, facts, load, new_key
from kapy.providers.kubeadm.certificates import (
    Certificate,
    init_certificates,
    join_certificates,
)
from kapy.remote.secrets import (
    InvalidSecretName,
    certificate_secret,
    has_purpose_suffix,
    parse_secret_name,
    secret_name,
)
from kapy.sdk.certificate_specs import new_key_pair
from tests.oracle.topic import Check, Record, compared

CLUSTER: Final = Key("ns", "c1")
OWNER: Final = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
_LABEL: Final = re.compile(r"-----BEGIN ([A-Z ]+)-----")


def _secret_name(record: Record) -> Iterator[str]:
    cluster, purpose, error = "", "", None
    try:
        cluster, purpose = parse_secret_name(record["name"])
    except InvalidSecretName as refused:
        error = str(refused)
    results = {
        **record,
        "hasPurposeSuffix": has_purpose_suffix(record["name"]),
        "parseError": error,
        "parsedCluster": cluster,
        "parsedPurpose": purpose,
    }
    if record.get("purpose"):
        results["name"] = secret_name(record["cluster"], record["purpose"])
    return compared(record, results)


def _certificates(record: Record) -> Iterator[str]:
    configuration = record["clusterConfiguration"] or {}
    chosen = init_certificates if record["kind"] == "init" else join_certificates
    purposes = {
        certificate.purpose: _described(certificate) for certificate in chosen(configuration)
    }
    recorded = {certificate["purpose"]: certificate for certificate in record["certificates"]}
    return compared(recorded, purposes)


def _described(certificate: Certificate) -> Record:
    described: Record = {
        "purpose": certificate.purpose,
        "certFile": certificate.cert_file,
        "keyFile": certificate.key_file,
        "external": certificate.external,
    }
    if certificate.external:
        return described
    pair = new_key_pair(certificate, EPOCH, new_key(certificate.algorithm))
    document = certificate_secret(CLUSTER, certificate.purpose, pair, OWNER)
    described["secret"] = {
        "data": {name: _kind_of(value) for name, value in document["data"].items()},
        "metadata": document["metadata"],
        "type": document["type"],
    }
    if b"BEGIN CERTIFICATE" in pair.certificate:
        described["certificate"] = _facts(pair)
    return described


def _kind_of(value: str) -> str:
    match = _LABEL.search(base64.b64decode(value).decode())
    return f"PEM {match[1]}" if match else "no PEM"


def _facts(pair: KeyPair) -> dict[str, Any]:
    """Return the facts of a certificate, in the words of Go's `crypto/x509` as in the recording."""
    result, certificate = facts(pair.certificate), load(pair.certificate)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    rsa = isinstance(certificate.public_key(), RSAPublicKey)
    return {
        "commonName": result.common_name,
        "dnsNames": list(result.names) or None,
        "isCA": basic.ca,
        "keyUsage": usage.digital_signature
        | usage.key_encipherment << 2
        | usage.key_cert_sign << 5,
        "maxPathLen": basic.path_length,
        "maxPathLenZero": basic.path_length == 0,
        "organization": list(result.organizations) or None,
        "publicKeyAlgorithm": "RSA" if rsa else "ECDSA",
        "serial": str(result.serial),
        "signatureAlgorithm": "SHA256-RSA" if rsa else "ECDSA-SHA256",
        "validityHours": (result.not_after - EPOCH) // timedelta(hours=1),
    }


FILES: Final[Mapping[str, Check]] = {
    "secret_names": _secret_name,
    "certificates": _certificates,
}
