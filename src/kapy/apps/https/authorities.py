"""The authorities that replicas of an extension share, as one Secret holds them. Pure.

`ca.crt` has the certificates of all that are good still, the oldest first, and is whom clients
trust; `ca.key` their keys in the same order. A new one is trusted a day before anybody signs with
it, so that all clients have heard of it; which one signs follows from the time alone, so nobody
has to lead.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from kapy.kube import Document, pki

CA: Final = "ca.crt"
KEYS: Final = "ca.key"
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z ]+)-----\n.*?-----END \1-----\n?", re.DOTALL)
_EC: Final = "ECDSA-P256"
_facts: Final = lru_cache(32)(pki.facts)
"""They are looked at again and again, and never change."""


@dataclass(frozen=True, slots=True)
class Lives:
    """How long what is made lasts; it is made anew when a third of that is left.

    overlap: how long an authority is only trusted before it signs.
    """

    authority: timedelta = timedelta(days=3 * 365)
    leaf: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(days=1)


USUAL: Final = Lives()
CLOCK_SECONDS: Final = 60.0
"""How often the time of day is looked at. A timer: nothing tells that a clock was set, or that a
machine slept, while which no timer goes on."""


@dataclass(frozen=True, slots=True)
class Authorities:
    """Authorities, the oldest first; there is at least one."""

    pairs: tuple[pki.KeyPair, ...]

    @classmethod
    def of(cls, secret: Document) -> Authorities:
        """As a Secret holds them. Raises InvalidPem."""
        certificates, keys = _blocks(value(secret, CA)), _blocks(value(secret, KEYS))
        if not certificates or len(certificates) != len(keys):
            raise pki.InvalidPem(f"{CA} and {KEYS} do not belong together")
        pairs = tuple(map(pki.KeyPair, certificates, keys))
        for one in pairs:
            if not pki.belongs_together(one):
                raise pki.InvalidPem(f"{CA} and {KEYS} do not belong together")
        return cls(pairs)

    @property
    def bundle(self) -> bytes:
        """Whom clients trust, PEM."""
        return b"".join(one.certificate for one in self.pairs)

    @property
    def data(self) -> dict[str, str]:
        """As the data of a Secret."""
        keys = b"".join(one.key for one in self.pairs)
        return {CA: b64encode(self.bundle).decode(), KEYS: b64encode(keys).decode()}

    def signing(self, now: datetime, lives: Lives) -> pki.KeyPair:
        """Who signs: the newest of those that everybody has heard of."""
        good = [one for one in self.pairs if is_good(one.certificate, now)] or self.pairs
        heard = [one for one in good if _begins(one) + lives.overlap <= now]
        return heard[-1] if heard else good[0]

    def signs_next(self, now: datetime, lives: Lives) -> datetime | None:
        """When somebody else begins to sign; None where nobody waits for that."""
        waiting = [begins for one in self.pairs if (begins := _begins(one) + lives.overlap) > now]
        return min(waiting) if len(self.pairs) > 1 and waiting else None

    def due(self, now: datetime, lives: Lives) -> datetime:
        """When the next authority is to be made: now, where none is good."""
        if not any(is_good(one.certificate, now) for one in self.pairs):
            return now
        return _facts(self.pairs[-1].certificate).not_after - lives.authority / 3

    def succeeded(self, now: datetime, lives: Lives) -> Authorities:
        """With a new authority, and without those that are good no more. Takes CPU: makes a key."""
        good = (one for one in self.pairs if _facts(one.certificate).not_after > now)
        return authorities(now, lives, good)


def authorities(now: datetime, lives: Lives, before: Iterable[pki.KeyPair] = ()) -> Authorities:
    """A new authority, after those that there were. Takes CPU: makes a key."""
    new = pki.new_ca("kapy extension", now=now, valid=lives.authority, algorithm=_EC)
    return Authorities((*before, new))


def own_authority(now: datetime, lives: Lives) -> pki.KeyPair:
    """An authority that follows nobody, and that counts whatever the clock said when it was made.
    Takes CPU: makes a key."""
    return pki.new_ca(
        "kapy extension", now=now, valid=lives.authority, algorithm=_EC, since=pki.EARLIEST
    )


def leaf(signer: pki.KeyPair, names: Iterable[str], now: datetime, lives: Lives) -> pki.KeyPair:
    """A server's certificate. Takes CPU: makes a key."""
    return pki.issue(
        signer,
        "kapy extension",
        now=now,
        names=sorted(names),
        usages=("server",),
        valid=lives.leaf,
        algorithm=_EC,
    )


def is_good(certificate: bytes, now: datetime) -> bool:
    """Whether clients trust it now. One that begins later was made while a clock was ahead."""
    facts = _facts(certificate)
    return facts.not_before <= now < facts.not_after


def leaf_due(certificate: bytes, signer: bytes, now: datetime, lives: Lives) -> datetime:
    """When a leaf is to be made anew: now, where it is not good; not before its end, where its
    authority ends then, too."""
    if not is_good(certificate, now):
        return now
    end = _facts(certificate).not_after
    return end if end >= _facts(signer).not_after else end - lives.leaf / 3


def value(secret: Document, name: str) -> bytes:
    """A value of a Secret, b"" where there is none. Raises InvalidPem."""
    try:
        return b64decode((secret.get("data") or {}).get(name) or "", validate=True)
    except ValueError:
        raise pki.InvalidPem(f"{name} is not base64") from None


def _begins(pair: pki.KeyPair) -> datetime:
    return _facts(pair.certificate).not_before + pki.BACKDATED


def _blocks(text: bytes) -> list[bytes]:
    return [found[0] for found in _PEM.finditer(text)]
