"""Computes the Secrets of certificates: which ones are valid and which must be reissued. Pure.

No process in the cluster would renew these certificates, so they last as long as their CA: ten
years. A certificate is reissued when two thirds of its lifetime have passed and a provider is
installed or upgraded, or by `kapy certificates renew`. A new CA keeps the previous CA certificate
in `previous.crt`: both are trusted until the servers have their new certificates.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from kapy.clusterctl.certificates.requests import CertificateRequest
from kapy.kube import Document, Key
from kapy.kube.foreign_json import decode_json
from kapy.kube.pki import Algorithm, InvalidPem, KeyPair, facts, issue, new_ca

CERTIFICATE_MARK: Final = "kapy.cluster.x-k8s.io/certificate"
"""Label of Secrets issued here; as an annotation, the request that its certificate answers."""
CERTIFICATE_NAME: Final = "cert-manager.io/certificate-name"
DEFAULT_VALIDITY: Final = timedelta(days=3650)

_CERTIFICATE, _KEY, _CA, _PREVIOUS = "tls.crt", "tls.key", "ca.crt", "previous.crt"


@dataclass
class IssuedSecrets:
    """The result of issuing certificates. secrets: the Secrets to write. bundles: CA bundles (PEM)
    by namespace and name of the Certificate. by_secret: CA bundles by namespace and name of the
    Secret.
    """

    secrets: list[Document] = field(default_factory=list)
    bundles: dict[Key, bytes] = field(default_factory=dict)
    by_secret: dict[Key, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class _Authority:
    pair: KeyPair
    bundle: bytes


def issue_secrets(
    requests: Iterable[CertificateRequest],
    held: Mapping[Key, Document],
    *,
    now: datetime,
    labels: Mapping[Key, Mapping[str, str]],
    anew: bool = False,
) -> IssuedSecrets:
    """Return the Secrets that are missing or due (all if `anew`), and the CA bundles.

    held: the existing Secrets. labels: additional labels for the Secrets of a Certificate.
    """
    issued = IssuedSecrets()
    authorities: dict[Key, _Authority] = {}
    for request in sorted(requests, key=lambda request: not request.is_authority):
        place = Key(request.namespace, request.authority)
        marks = labels.get(Key(request.namespace, request.name), {})
        if place not in authorities:
            authorities[place] = _authority(request, held.get(place), now, marks, issued, anew=anew)
        authority = authorities[place]
        if not request.is_authority:
            _leaf(
                request,
                held.get(Key(request.namespace, request.secret)),
                authority,
                now,
                marks,
                issued,
            )
        issued.bundles[Key(request.namespace, request.name)] = authority.bundle
        issued.by_secret[Key(request.namespace, request.secret)] = authority.bundle
    return issued


def stored_request(secret: Document) -> CertificateRequest | None:
    """Return the request for which the certificate in a Secret was issued; None if kapy did not
    issue it.
    """
    text = (secret["metadata"].get("annotations") or {}).get(CERTIFICATE_MARK)
    try:
        return CertificateRequest.of(decode_json(text)) if text else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # another program wrote it


def value(secret: Document, name: str) -> bytes:
    """Return a value of a Secret, b"" if the key is missing."""
    return b64decode((secret.get("data") or {}).get(name) or "")


def _authority(
    request: CertificateRequest,
    secret: Document | None,
    now: datetime,
    labels: Mapping[str, str],
    issued: IssuedSecrets,
    *,
    anew: bool,
) -> _Authority:
    """Return the CA that signs `request`: the existing one, or a new one, which is added to
    `issued`.
    """
    if secret is not None and not anew and is_good(value(secret, _CERTIFICATE), now):
        certificate = value(secret, _CERTIFICATE)
        pair = KeyPair(certificate, value(secret, _KEY))
        return _Authority(pair, certificate + value(secret, _PREVIOUS))
    previous = value(secret, _CERTIFICATE) if secret is not None else b""
    life = validity_of(request, DEFAULT_VALIDITY) if request.is_authority else DEFAULT_VALIDITY
    pair = new_ca(request.authority, now=now, valid=life, algorithm=_ca_algorithm(request))
    data = {_CERTIFICATE: pair.certificate, _KEY: pair.key, _CA: pair.certificate}
    # Also write empty values: a merge would keep former ones.
    result = request if request.is_authority else None
    issued.secrets.append(
        _secret(request, request.authority, data | {_PREVIOUS: previous}, labels, stored=result)
    )
    return _Authority(pair, pair.certificate + previous)


def _ca_algorithm(request: CertificateRequest) -> Algorithm:
    return request.algorithm if request.is_authority else "ECDSA-P256"


def _leaf(
    request: CertificateRequest,
    secret: Document | None,
    authority: _Authority,
    now: datetime,
    labels: Mapping[str, str],
    issued: IssuedSecrets,
) -> None:
    if secret is not None and _serves(secret, request, authority, now):
        return
    pair = issue(
        authority.pair,
        request.common_name[:64],  # X.509's limit; the DNS names are complete
        now=now,
        organizations=request.organizations,
        names=request.names,
        usages=request.usages,
        valid=validity_of(request, DEFAULT_VALIDITY),
        algorithm=request.algorithm,
    )
    data = {_CERTIFICATE: pair.certificate, _KEY: pair.key, _CA: authority.bundle}
    issued.secrets.append(_secret(request, request.secret, data, labels, stored=request))


def validity_of(request: CertificateRequest, usual: timedelta) -> timedelta:
    """Return the validity period of a certificate."""
    return timedelta(seconds=request.seconds) if request.seconds else usual


def _serves(
    secret: Document, request: CertificateRequest, authority: _Authority, now: datetime
) -> bool:
    """Return whether a Secret holds the requested certificate from this CA, valid for long
    enough.
    """
    certificate = value(secret, _CERTIFICATE)
    if not is_good(certificate, now) or value(secret, _CA) != authority.bundle:
        return False
    return stored_request(secret) == request


def is_good(certificate: bytes, now: datetime) -> bool:
    """Return whether a certificate can be read and more than a third of its validity is left."""
    try:
        read = facts(certificate)
    except InvalidPem:
        return False
    return read.not_after - now > (read.not_after - read.not_before) / 3


def _secret(
    request: CertificateRequest,
    name: str,
    data: Mapping[str, bytes],
    labels: Mapping[str, str],
    *,
    stored: CertificateRequest | None,
) -> Document:
    annotations = {}
    if stored is not None:
        annotations = {
            CERTIFICATE_NAME: request.name,
            CERTIFICATE_MARK: json.dumps(stored.document()),
        }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {
            "name": name,
            "namespace": request.namespace,
            "labels": {**labels, CERTIFICATE_MARK: ""},
            "annotations": annotations,
        },
        "data": {key: b64encode(content).decode() for key, content in data.items()},
    }
