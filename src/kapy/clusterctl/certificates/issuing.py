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

from kapy.clusterctl.certificates.wanted import Wanted
from kapy.kube import Document, Key
from kapy.kube.foreign_json import decoded
from kapy.kube.pki import Algorithm, InvalidPem, KeyPair, facts, issue, new_ca

OURS: Final = "kapy.cluster.x-k8s.io/certificate"
"""Label of Secrets issued here; as an annotation, the request that its certificate answers."""
CERTIFICATE_NAME: Final = "cert-manager.io/certificate-name"
LIFE: Final = timedelta(days=3650)

_CERTIFICATE, _KEY, _CA, _PREVIOUS = "tls.crt", "tls.key", "ca.crt", "previous.crt"


@dataclass
class Issued:
    """secrets: the Secrets to write. bundles: the CA bundles (PEM) by namespace and name of the
    Certificate; by_secret: the same by the Secret's key."""

    secrets: list[Document] = field(default_factory=list)
    bundles: dict[Key, bytes] = field(default_factory=dict)
    by_secret: dict[Key, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class _Authority:
    pair: KeyPair
    bundle: bytes


def issued(
    asked: Iterable[Wanted],
    held: Mapping[Key, Document],
    *,
    now: datetime,
    labels: Mapping[Key, Mapping[str, str]],
    anew: bool = False,
) -> Issued:
    """The Secrets that are missing or due (all if `anew`), and the CA bundles.

    held: the existing Secrets. labels: additional labels for the Secrets of a Certificate.
    """
    found = Issued()
    authorities: dict[Key, _Authority] = {}
    for one in sorted(asked, key=lambda one: not one.is_authority):
        place = Key(one.namespace, one.authority)
        marks = labels.get(Key(one.namespace, one.name), {})
        if place not in authorities:
            authorities[place] = _authority(one, held.get(place), now, marks, found, anew=anew)
        authority = authorities[place]
        if not one.is_authority:
            _leaf(one, held.get(Key(one.namespace, one.secret)), authority, now, marks, found)
        found.bundles[Key(one.namespace, one.name)] = authority.bundle
        found.by_secret[Key(one.namespace, one.secret)] = authority.bundle
    return found


def kept(secret: Document) -> Wanted | None:
    """The request for which the certificate in a Secret was issued; None if kapy did not issue
    it."""
    text = (secret["metadata"].get("annotations") or {}).get(OURS)
    try:
        return Wanted.of(decoded(text)) if text else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # somebody else wrote it


def value(secret: Document, name: str) -> bytes:
    """A value of a Secret, b"" if the key is missing."""
    return b64decode((secret.get("data") or {}).get(name) or "")


def _authority(
    one: Wanted,
    held: Document | None,
    now: datetime,
    labels: Mapping[str, str],
    found: Issued,
    *,
    anew: bool,
) -> _Authority:
    """The CA that signs `one`: the existing one, or a new one, which is added to `found`."""
    if held is not None and not anew and is_good(value(held, _CERTIFICATE), now):
        certificate = value(held, _CERTIFICATE)
        pair = KeyPair(certificate, value(held, _KEY))
        return _Authority(pair, certificate + value(held, _PREVIOUS))
    previous = value(held, _CERTIFICATE) if held is not None else b""
    life = life_of(one, LIFE) if one.is_authority else LIFE
    pair = new_ca(one.authority, now=now, valid=life, algorithm=_of_authority(one))
    data = {_CERTIFICATE: pair.certificate, _KEY: pair.key, _CA: pair.certificate}
    # What is empty is written, too: a merge would leave what was there.
    asked = one if one.is_authority else None
    found.secrets.append(
        _secret(one, one.authority, data | {_PREVIOUS: previous}, labels, asked=asked)
    )
    return _Authority(pair, pair.certificate + previous)


def _of_authority(one: Wanted) -> Algorithm:
    return one.algorithm if one.is_authority else "ECDSA-P256"


def _leaf(
    one: Wanted,
    held: Document | None,
    authority: _Authority,
    now: datetime,
    labels: Mapping[str, str],
    found: Issued,
) -> None:
    if held is not None and _serves(held, one, authority, now):
        return
    pair = issue(
        authority.pair,
        one.common_name[:64],  # the longest that X.509 allows; the names say it whole
        now=now,
        organizations=one.organizations,
        names=one.names,
        usages=one.usages,
        valid=life_of(one, LIFE),
        algorithm=one.algorithm,
    )
    data = {_CERTIFICATE: pair.certificate, _KEY: pair.key, _CA: authority.bundle}
    found.secrets.append(_secret(one, one.secret, data, labels, asked=one))


def life_of(one: Wanted, usual: timedelta) -> timedelta:
    """The validity period of a certificate."""
    return timedelta(seconds=one.seconds) if one.seconds else usual


def _serves(held: Document, one: Wanted, authority: _Authority, now: datetime) -> bool:
    """Whether a Secret holds the requested certificate from this CA, valid for long enough."""
    certificate = value(held, _CERTIFICATE)
    if not is_good(certificate, now) or value(held, _CA) != authority.bundle:
        return False
    return kept(held) == one


def is_good(certificate: bytes, now: datetime) -> bool:
    """Whether a certificate can be read and more than a third of its validity is left."""
    try:
        read = facts(certificate)
    except InvalidPem:
        return False
    return read.not_after - now > (read.not_after - read.not_before) / 3


def _secret(
    one: Wanted,
    name: str,
    data: Mapping[str, bytes],
    labels: Mapping[str, str],
    *,
    asked: Wanted | None,
) -> Document:
    annotations = {}
    if asked is not None:
        annotations = {CERTIFICATE_NAME: one.name, OURS: json.dumps(asked.document())}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {
            "name": name,
            "namespace": one.namespace,
            "labels": {**labels, OURS: ""},
            "annotations": annotations,
        },
        "data": {key: b64encode(content).decode() for key, content in data.items()},
    }
