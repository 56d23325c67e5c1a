"""Computes the Secret of a Certificate: whether it is valid, until when, and its replacement.
Pure."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kapy.apps.certificates.issuers import Signer
from kapy.clusterctl.certificates.issuing import CERTIFICATE_NAME, OURS, kept, life_of, value
from kapy.clusterctl.certificates.wanted import Wanted, seconds_of
from kapy.kube import Document, Key
from kapy.kube.pki import Facts, InvalidPem, KeyPair, facts, issue, new_ca

LIFE: Final = timedelta(days=90)
"""The default of `spec.duration`, as in cert-manager."""
AUTHORITY_LIFE: Final = timedelta(days=3650)
_UNSUPPORTED: Final = ("keystores", "additionalOutputFormats", "literalSubject", "otherNames")


class Due(NamedTuple):
    """The reason for issuing a Certificate, with cert-manager's reason and message."""

    reason: str
    message: str


def due(
    certificate: Document, wanted: Wanted, secret: Document | None, signer: Signer, now: datetime
) -> Due | None:
    """The reason for which a certificate must be issued or renewed, if there is one."""
    if secret is None:
        return Due("DoesNotExist", "Issuing certificate as Secret does not exist")
    known = facts_of(secret)
    if known is None:
        return Due("InvalidCertificate", "Issuing certificate as Secret contains no certificate")
    if kept(secret) != wanted:
        return Due("RequestChanged", "Fields on existing Secret not up to date with Certificate")
    if not wanted.is_authority and value(secret, "ca.crt") != signer.bundle:
        return Due("SecretMismatch", "Issuing certificate as its authority has changed")
    if renewal_time(certificate, known) <= now:
        return Due("Renewing", "Renewing certificate as renewal was scheduled")
    return None


def other_owner(certificate: Document, secret: Document | None) -> str:
    """The name of another Certificate for which the Secret was issued, "" for none."""
    annotations = (secret or {"metadata": {}})["metadata"].get("annotations") or {}
    name = str(annotations.get(CERTIFICATE_NAME, ""))
    return "" if name == certificate["metadata"]["name"] else name


def unsupported(certificate: Document) -> list[str]:
    """The fields of a Certificate that a plane does not support."""
    return [f"spec.{one}" for one in _UNSUPPORTED if certificate["spec"].get(one)]


def facts_of(secret: Document) -> Facts | None:
    """The facts in the certificate of a Secret, None if it has no certificate."""
    try:
        return facts(value(secret, "tls.crt"))
    except InvalidPem:
        return None


def renewal_time(certificate: Document, known: Facts) -> datetime:
    """The renewal time of a certificate: `renewBefore` its end, else after two thirds of its
    validity.

    Raises CertificateError.
    """
    life = known.not_after - known.not_before
    spec = certificate["spec"]
    before = timedelta(seconds=seconds_of(Key.of(certificate), spec, "renewBefore"))
    percentage = spec.get("renewBeforePercentage")
    if not before and isinstance(percentage, int) and 0 < percentage < 100:
        before = life * percentage / 100
    if not timedelta(0) < before < life:
        before = life / 3
    return known.not_after - before


def authority(signer: Signer, now: datetime) -> tuple[Signer, Document | None]:
    """The signer with its key pair, and the CA's Secret if the CA was created now."""
    if signer.pair is not None:
        return signer, None
    pair = new_ca(signer.place.name, now=now, valid=AUTHORITY_LIFE, algorithm="ECDSA-P256")
    data = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.certificate}
    return Signer(signer.place, pair, pair.certificate), _secret(signer.place, data, {}, {})


def issued(
    certificate: Document, wanted: Wanted, held: Document | None, signer: Signer, now: datetime
) -> Document:
    """The Secret with a new certificate."""
    template = certificate["spec"].get("secretTemplate") or {}
    annotations = {
        **(template.get("annotations") or {}),
        CERTIFICATE_NAME: wanted.name,
        OURS: json.dumps(wanted.document()),
    }
    data = _of_authority(wanted, held, now) if wanted.is_authority else _leaf(wanted, signer, now)
    place = Key(wanted.namespace, wanted.secret)
    return _secret(place, data, template.get("labels") or {}, annotations)


def _of_authority(wanted: Wanted, held: Document | None, now: datetime) -> dict[str, bytes]:
    valid = life_of(wanted, LIFE)
    pair = new_ca(wanted.common_name[:64], now=now, valid=valid, algorithm=wanted.algorithm)
    previous = b"" if held is None else value(held, "tls.crt")
    return {**_data(pair), "ca.crt": pair.certificate, "previous.crt": previous}


def _leaf(wanted: Wanted, signer: Signer, now: datetime) -> dict[str, bytes]:
    assert signer.pair is not None
    pair = issue(
        signer.pair,
        wanted.common_name[:64],
        now=now,
        organizations=wanted.organizations,
        names=wanted.names,
        usages=wanted.usages,
        valid=life_of(wanted, LIFE),
        algorithm=wanted.algorithm,
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
