"""Takes over a Secret whose certificate cert-manager no longer renews. Pure.

If a Certificate is deleted, for instance with the release that it was part of, its Secret stays and
is used until it expires. cert-manager renews when a third of the certificate's life is left. When a
sixth is left, it evidently does not, and a CA of our own is added to the Secret:

1. `ca.crt` has the former CA and ours, `ca.key` our key. An annotation with the certificate's hash
   takes the place of cert-manager's. The certificate is served until all clients trust both CAs.
2. `tls.crt` and `tls.key` are emptied, `ca.crt` has our CA alone, which signs from now on. A Secret
   of the type `kubernetes.io/tls` must keep the names.

A certificate that ended is replaced at once. A certificate without an annotation is a user's, and
is left alone; so is one that somebody writes between the steps.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from hashlib import sha256
from typing import Final

from kapy.apps.https.authorities import (
    CA,
    KEYS,
    LEAF,
    LEAF_KEY,
    Authorities,
    ValidityPeriods,
    certificate_facts,
    is_valid,
    secret_value,
)
from kapy.kube import Document, pki

PREFIX: Final = "cert-manager.io/"
CERTIFICATE_NAME: Final = f"{PREFIX}certificate-name"
LEFT_BEHIND: Final = "kapy.cluster.x-k8s.io/left-behind-certificate"
"""The annotation of a Secret that is being taken over."""
_REST: Final = 6
"""The part of its life that a certificate has left when it is taken over."""


def given_pair(secret: Document) -> pki.KeyPair | None:
    """Return the certificate that somebody wrote into a Secret, None for none. Raises
    InvalidPem.
    """
    pair = pki.KeyPair(secret_value(secret, LEAF), secret_value(secret, LEAF_KEY))
    return pair if pair.certificate and pair.key else None


def own_authorities(secret: Document) -> Authorities | None:
    """Our CAs in a Secret, None where another issuer's are. The former CA is not among them."""
    try:
        pair = given_pair(secret)
        if pair is not None and _annotations(secret).get(LEFT_BEHIND) != _hash(pair):
            return None
        return Authorities.last_of(secret)
    except pki.InvalidPem:
        return None


def takeover_time(secret: Document, periods: ValidityPeriods) -> datetime | None:
    """Return the time of the next step for a Secret with a certificate, None if there is none.
    Raises InvalidPem."""
    pair = given_pair(secret)
    if pair is None:
        return None
    facts = certificate_facts(pair.certificate)
    own = own_authorities(secret)
    if own is not None:
        return min(own.trusted_time(periods), facts.not_after)
    if CERTIFICATE_NAME not in _annotations(secret):
        return None
    return facts.not_after - (facts.not_after - facts.not_before) / _REST


def taken_over(secret: Document, new: Authorities, now: datetime) -> Document:
    """Return the Secret after the next step. new: a CA for a Secret that has none of ours."""
    data, own, pair = dict(secret["data"]), own_authorities(secret), given_pair(secret)
    annotations = {
        name: value
        for name, value in _annotations(secret).items()
        if not name.startswith(PREFIX) and name != LEFT_BEHIND
    }
    if own is None and pair is not None and is_valid(pair.certificate, now):
        both = _with_newline(secret_value(secret, CA)) + new.bundle
        data |= {CA: b64encode(both).decode(), KEYS: new.data[KEYS]}
        annotations[LEFT_BEHIND] = _hash(pair)
    else:
        data |= {LEAF: "", LEAF_KEY: "", **(own or new).data}
    metadata = {**secret["metadata"], "annotations": annotations}
    return {**secret, "metadata": metadata, "data": data}


def _hash(pair: pki.KeyPair) -> str:
    return sha256(pair.certificate).hexdigest()


def _annotations(secret: Document) -> dict[str, str]:
    return secret["metadata"].get("annotations") or {}


def _with_newline(text: bytes) -> bytes:
    return text + b"\n" if text and not text.endswith(b"\n") else text
