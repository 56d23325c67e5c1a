"""The CAs that replicas of an extension share in one Secret. Pure.

`ca.crt` contains the certificates of all valid CAs, the oldest first, and is the clients' CA
bundle; `ca.key` contains their keys in the same order. A new CA is published a day before it signs,
so that all clients trust it by then. The time alone decides on the CA that signs, so no leader
election is needed.

A Secret whose certificate cert-manager no longer renews is taken over. If a Certificate is deleted,
for instance with the release that it was part of, its Secret stays and is used until it expires.
cert-manager renews when a third of the certificate's life is left. When a sixth is left, it
evidently does not, and a CA of our own is added to the Secret:

1. `ca.crt` has the former CA and ours, `ca.key` our key. An annotation with the certificate's hash
   takes the place of cert-manager's. The certificate is served until all clients trust both CAs.
2. `tls.crt` and `tls.key` are emptied, `ca.crt` has our CA alone, which signs from now on. A Secret
   of the type `kubernetes.io/tls` must keep the names.

A certificate that ended is replaced at once. A certificate without an annotation is a user's, and
is left alone; so is one that somebody writes between the steps.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Final

from kapy.kube import Document, pki

CA: Final = "ca.crt"
KEYS: Final = "ca.key"
LEAF: Final = "tls.crt"
LEAF_KEY: Final = "tls.key"
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z ]+)-----\n.*?-----END \1-----\n?", re.DOTALL)
_EC: Final = "ECDSA-P256"
_APART: Final = f"{CA} and {KEYS} do not belong together"
_certificate_facts: Final = lru_cache(32)(pki.facts)
"""The facts of a certificate, cached: they are needed often, and never change."""


@dataclass(frozen=True, slots=True)
class ValidityPeriods:
    """Validity periods; a certificate is replaced when a third of its period is left.

    overlap: how long a new CA is only trusted before it signs.
    """

    ca: timedelta = timedelta(days=3 * 365)
    leaf: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(days=1)


DEFAULT_PERIODS: Final = ValidityPeriods()
CLOCK_SECONDS: Final = 60.0
"""The interval of checks of the time of day. Nothing reports that the clock was set or the machine
slept, and timers do not run during sleep."""


@dataclass(frozen=True, slots=True)
class Authorities:
    """CAs, the oldest first; there is at least one."""

    pairs: tuple[pki.KeyPair, ...]

    @classmethod
    def of(cls, secret: Document) -> Authorities:
        """Return the CAs in a Secret. Raises InvalidPem."""
        certificates, keys = (
            _pem_blocks(secret_value(secret, CA)),
            _pem_blocks(secret_value(secret, KEYS)),
        )
        if len(certificates) != len(keys):
            raise pki.InvalidPem(_APART)
        return cls._matching(certificates, keys)

    @classmethod
    def last_of(cls, secret: Document) -> Authorities:
        """Return the last CAs in a Secret, those whose keys it contains. Raises InvalidPem."""
        certificates, keys = (
            _pem_blocks(secret_value(secret, CA)),
            _pem_blocks(secret_value(secret, KEYS)),
        )
        if len(certificates) < len(keys):
            raise pki.InvalidPem(_APART)
        return cls._matching(certificates[len(certificates) - len(keys) :], keys)

    @classmethod
    def _matching(cls, certificates: Sequence[bytes], keys: Sequence[bytes]) -> Authorities:
        pairs = tuple(map(pki.KeyPair, certificates, keys))
        if not pairs or not all(pki.is_matching_pair(item) for item in pairs):
            raise pki.InvalidPem(_APART)
        return cls(pairs)

    @property
    def bundle(self) -> bytes:
        """The CA bundle for clients, PEM."""
        return b"".join(item.certificate for item in self.pairs)

    @property
    def data(self) -> dict[str, str]:
        """The data of a Secret with these CAs."""
        keys = b"".join(item.key for item in self.pairs)
        return {CA: b64encode(self.bundle).decode(), KEYS: b64encode(keys).decode()}

    def signer(self, now: datetime, periods: ValidityPeriods) -> pki.KeyPair:
        """Return the CA that signs: the newest one that was published long enough ago."""
        good = [item for item in self.pairs if is_valid(item.certificate, now)] or self.pairs
        heard = [item for item in good if _begin_time(item) + periods.overlap <= now]
        return heard[-1] if heard else good[0]

    def trusted_time(self, periods: ValidityPeriods) -> datetime:
        """Return the time from which all clients trust the newest CA."""
        return _begin_time(self.pairs[-1]) + periods.overlap

    def next_signer_time(self, now: datetime, periods: ValidityPeriods) -> datetime | None:
        """Return the time when another CA begins to sign; None if none waits for that."""
        waiting = [
            begins for item in self.pairs if (begins := _begin_time(item) + periods.overlap) > now
        ]
        return min(waiting) if len(self.pairs) > 1 and waiting else None

    def renewal_time(self, now: datetime, periods: ValidityPeriods) -> datetime:
        """Return the time when the next CA must be created: now, if none is valid."""
        if not any(is_valid(item.certificate, now) for item in self.pairs):
            return now
        return _certificate_facts(self.pairs[-1].certificate).not_after - periods.ca / 3

    def rotate(self, now: datetime, periods: ValidityPeriods) -> Authorities:
        """These CAs plus a new one, without expired ones. Takes CPU: generates a key."""
        good = (item for item in self.pairs if _certificate_facts(item.certificate).not_after > now)
        return authorities(now, periods, good)


def authorities(
    now: datetime, periods: ValidityPeriods, before: Iterable[pki.KeyPair] = ()
) -> Authorities:
    """Return the CAs in `before` plus a new one. Takes CPU: generates a key."""
    new = pki.new_ca("kapy extension", now=now, valid=periods.ca, algorithm=_EC)
    return Authorities((*before, new))


def single_authority(now: datetime, periods: ValidityPeriods) -> pki.KeyPair:
    """Return a single CA, valid since long ago, in case the clock was wrong at its creation. Takes
    CPU: generates a key.
    """
    return pki.new_ca(
        "kapy extension", now=now, valid=periods.ca, algorithm=_EC, since=pki.EARLIEST
    )


def leaf(
    signer: pki.KeyPair, names: Iterable[str], now: datetime, periods: ValidityPeriods
) -> pki.KeyPair:
    """Issue a server certificate. This takes CPU time, because it generates a key."""
    return pki.issue(
        signer,
        "kapy extension",
        now=now,
        names=sorted(names),
        usages=("server",),
        valid=periods.leaf,
        algorithm=_EC,
    )


def is_valid(certificate: bytes, now: datetime) -> bool:
    """Return whether clients accept a certificate now. Its validity may begin in the future, if it
    was issued while a clock was ahead.
    """
    facts = _certificate_facts(certificate)
    return facts.not_before <= now < facts.not_after


def leaf_renewal_time(
    certificate: bytes, signer: bytes, now: datetime, periods: ValidityPeriods
) -> datetime:
    """Return the time when a leaf must be renewed: now, if it is not valid; at its end, if its CA
    ends then, too."""
    if not is_valid(certificate, now):
        return now
    end = _certificate_facts(certificate).not_after
    return end if end >= _certificate_facts(signer).not_after else end - periods.leaf / 3


def secret_value(secret: Document, name: str) -> bytes:
    """Return a value of a Secret, b"" where there is none. Raises InvalidPem."""
    try:
        return b64decode((secret.get("data") or {}).get(name) or "", validate=True)
    except ValueError:
        raise pki.InvalidPem(f"{name} is not base64") from None


def _begin_time(pair: pki.KeyPair) -> datetime:
    return _certificate_facts(pair.certificate).not_before + pki.BACKDATING


def _pem_blocks(text: bytes) -> list[bytes]:
    return [result[0] for result in _PEM.finditer(text)]


_PREFIX: Final = "cert-manager.io/"
CERTIFICATE_NAME: Final = f"{_PREFIX}certificate-name"
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
    facts = _certificate_facts(pair.certificate)
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
        if not name.startswith(_PREFIX) and name != LEFT_BEHIND
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
