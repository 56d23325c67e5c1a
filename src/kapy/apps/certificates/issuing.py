"""Issues the Secret of a Certificate: selects the signer, decides on renewal, and computes the new
Secret. Pure.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kapy.clusterctl.certificates.issuing import (
    CERTIFICATE_MARK,
    CERTIFICATE_NAME,
    stored_request,
    validity_of,
    value,
)
from kapy.clusterctl.certificates.requests import CertificateRequest, seconds_of
from kapy.kube import Document, Key
from kapy.kube.pki import (
    Facts,
    InvalidPem,
    KeyPair,
    facts,
    is_authority,
    is_matching_pair,
    issue,
    new_ca,
)

_CLUSTER_NAMESPACE: Final = "cert-manager"
"""The namespace of the Secrets that ClusterIssuers name, as in cert-manager."""
_Secrets = Callable[[Key], Document | None]

CERTIFICATE_VALIDITY: Final = timedelta(days=90)
"""The default of `spec.duration`, as in cert-manager."""
CA_VALIDITY: Final = timedelta(days=3650)
_UNSUPPORTED: Final = ("keystores", "additionalOutputFormats", "literalSubject", "otherNames")


class NotReady(Exception):
    """An Issuer cannot sign. reason: the reason of its condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Signer:
    """A CA that signs the certificates of an Issuer. secret: the namespace and name of the Secret
    of the CA. pair: the key pair of the CA, None if it is created on first use. bundle: the CA
    bundle.
    """

    secret: Key
    pair: KeyPair | None
    bundle: bytes = b""


def check_issuer(issuer: Document) -> tuple[str, str]:
    """Return the condition's reason and message for an Issuer that needs no Secret, ("", "") if it
    needs one.

    Raises NotReady for an issuer type that a plane does not support.
    """
    spec: Mapping[str, object] = issuer.get("spec") or {}
    if "selfSigned" in spec:
        return "IsReady", ""
    if "ca" in spec:
        return "", ""
    kinds = ", ".join(sorted(spec)) or "none"
    raise NotReady(
        "UnsupportedIssuer",
        f"this plane issues from issuers of the types selfSigned and ca, and this one is of "
        f"{kinds}; install cert-manager (`kapy init --certificates cert-manager`) for others",
    )


def secret_of(issuer: Document) -> Key:
    """Return the Secret of a CA Issuer."""
    namespace = issuer["metadata"].get("namespace") or _CLUSTER_NAMESPACE
    return Key(namespace, str((issuer["spec"]["ca"] or {}).get("secretName", "")))


def signer_of(issuer: Document, namespace: str, secrets: _Secrets) -> Signer:
    """Return the signer for the Certificates of a namespace that refer to an Issuer. Raises
    NotReady.
    """
    reason, _ = check_issuer(issuer)
    if reason:
        place = Key(namespace, f"{issuer['metadata']['name']}-kapy")
        held = secrets(place)
        if held is None:
            return Signer(place, None)
        return Signer(place, *_pair_of(place, held))
    place = secret_of(issuer)
    held = secrets(place)
    if held is None:
        raise NotReady(
            "ErrGetKeyPair",
            f"Error getting keypair for CA issuer: the Secret {place} does not exist",
        )
    return Signer(place, *_pair_of(place, held))


def _pair_of(place: Key, secret: Document) -> tuple[KeyPair, bytes]:
    certificate, key = value(secret, "tls.crt"), value(secret, "tls.key")
    try:
        good = is_matching_pair(KeyPair(certificate, key))
        signs = is_authority(certificate)
    except InvalidPem as error:
        raise NotReady(
            "ErrInvalidKeyPair", f"Error getting keypair for CA issuer: Secret {place}: {error}"
        ) from None
    if not good:
        raise NotReady(
            "ErrInvalidKeyPair",
            f"Error getting keypair for CA issuer: in the Secret {place} tls.key does not belong "
            "to tls.crt",
        )
    if not signs:
        raise NotReady(
            "ErrInvalidKeyPair",
            f"Error getting keypair for CA issuer: the certificate in the Secret {place} is not of "
            "an authority (isCA)",
        )
    return KeyPair(certificate, key), certificate + value(secret, "previous.crt")


class RenewalReason(NamedTuple):
    """The reason for issuing a Certificate, with cert-manager's reason and message."""

    reason: str
    message: str


def renewal_reason(
    certificate: Document,
    request: CertificateRequest,
    secret: Document | None,
    signer: Signer,
    now: datetime,
) -> RenewalReason | None:
    """Return the reason for which a certificate must be issued or renewed, if there is one."""
    if secret is None:
        return RenewalReason("DoesNotExist", "Issuing certificate as Secret does not exist")
    facts = facts_of(secret)
    if facts is None:
        return RenewalReason(
            "InvalidCertificate", "Issuing certificate as Secret contains no certificate"
        )
    if stored_request(secret) != request:
        return RenewalReason(
            "RequestChanged", "Fields on existing Secret not up to date with Certificate"
        )
    if not request.is_authority and value(secret, "ca.crt") != signer.bundle:
        return RenewalReason("SecretMismatch", "Issuing certificate as its authority has changed")
    if renewal_time(certificate, facts) <= now:
        return RenewalReason("Renewing", "Renewing certificate as renewal was scheduled")
    return None


def other_owner(certificate: Document, secret: Document | None) -> str:
    """Return the name of another Certificate for which the Secret was issued, "" for none."""
    annotations = (secret or {"metadata": {}})["metadata"].get("annotations") or {}
    name = str(annotations.get(CERTIFICATE_NAME, ""))
    return "" if name == certificate["metadata"]["name"] else name


def unsupported_fields(certificate: Document) -> list[str]:
    """Return the fields of a Certificate that a plane does not support."""
    return [f"spec.{item}" for item in _UNSUPPORTED if certificate["spec"].get(item)]


def facts_of(secret: Document) -> Facts | None:
    """Return the facts in the certificate of a Secret, None if it has no certificate."""
    try:
        return facts(value(secret, "tls.crt"))
    except InvalidPem:
        return None


def renewal_time(certificate: Document, facts: Facts) -> datetime:
    """Return the renewal time of a certificate: `renewBefore` its end, else after two thirds of its
    validity.

    Raises CertificateError.
    """
    life = facts.not_after - facts.not_before
    spec = certificate["spec"]
    before = timedelta(seconds=seconds_of(Key.of(certificate), spec, "renewBefore"))
    percentage = spec.get("renewBeforePercentage")
    if not before and isinstance(percentage, int) and 0 < percentage < 100:
        before = life * percentage / 100
    if not timedelta(0) < before < life:
        before = life / 3
    return facts.not_after - before


def ensure_ca(signer: Signer, now: datetime) -> tuple[Signer, Document | None]:
    """Return the signer with its key pair, and the CA's Secret if the CA was created now."""
    if signer.pair is not None:
        return signer, None
    pair = new_ca(signer.secret.name, now=now, valid=CA_VALIDITY, algorithm="ECDSA-P256")
    data = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.certificate}
    return Signer(signer.secret, pair, pair.certificate), _secret(signer.secret, data, {}, {})


def issue_secret(
    certificate: Document,
    request: CertificateRequest,
    secret: Document | None,
    signer: Signer,
    now: datetime,
) -> Document:
    """Return the Secret with a new certificate."""
    template = certificate["spec"].get("secretTemplate") or {}
    annotations = {
        **(template.get("annotations") or {}),
        CERTIFICATE_NAME: request.name,
        CERTIFICATE_MARK: json.dumps(request.document()),
    }
    data = (
        _ca_data(request, secret, now) if request.is_authority else _leaf_data(request, signer, now)
    )
    place = Key(request.namespace, request.secret)
    return _secret(place, data, template.get("labels") or {}, annotations)


def _ca_data(
    request: CertificateRequest, secret: Document | None, now: datetime
) -> dict[str, bytes]:
    valid = validity_of(request, CERTIFICATE_VALIDITY)
    pair = new_ca(request.common_name[:64], now=now, valid=valid, algorithm=request.algorithm)
    previous = b"" if secret is None else value(secret, "tls.crt")
    return {**_data(pair), "ca.crt": pair.certificate, "previous.crt": previous}


def _leaf_data(request: CertificateRequest, signer: Signer, now: datetime) -> dict[str, bytes]:
    assert signer.pair is not None
    pair = issue(
        signer.pair,
        request.common_name[:64],
        now=now,
        organizations=request.organizations,
        names=request.names,
        usages=request.usages,
        valid=validity_of(request, CERTIFICATE_VALIDITY),
        algorithm=request.algorithm,
    )
    return {**_data(pair), "ca.crt": signer.bundle}


def _data(pair: KeyPair) -> dict[str, bytes]:
    return {"tls.crt": pair.certificate, "tls.key": pair.key}


def _secret(
    place: Key,
    data: Mapping[str, bytes],
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {
            "name": place.name,
            "namespace": place.namespace,
            "labels": {**labels, "controller.cert-manager.io/fao": "true"},
            "annotations": dict(annotations),
        },
        "data": {key: b64encode(content).decode() for key, content in data.items()},
    }
