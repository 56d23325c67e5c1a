"""When what a client shows ends, for whoever is told that a server does not accept it.

Servers say no more than "Unauthorized", or hang up; that a certificate or a token is too old is
the most likely reason, and can be seen from here.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from datetime import UTC, datetime

import msgspec

from kapy.client.exec_plugin import Credential
from kapy.client.reply import failure_of
from kapy.kube import pki
from kapy.kube.errors import Unauthorized
from kapy.kube.http import Reply


class Expiry:
    """The ends of one credential, read from it when somebody asks."""

    def __init__(self, shown: Credential) -> None:
        self._shown = shown
        self._ends: dict[str, datetime] | None = None

    def ended(self, now: datetime) -> str:
        """What ended when, "" for nothing that can be seen."""
        if self._ends is None:
            self._ends = _ends_of(self._shown)
        gone = (f"{what} ended at {end:%F %T} UTC" for what, end in self._ends.items() if end < now)
        return " and ".join(gone)

    def explained(self, reply: Reply, now: datetime) -> Reply:
        """A refusal, with what is seen from here."""
        why = self.ended(now)
        if not why:
            return reply
        told = f"{failure_of(reply).message}: {why}; renew it"
        return Reply(reply.status, Unauthorized(told).status(), reply.headers)


def _ends_of(shown: Credential) -> dict[str, datetime]:
    found: dict[str, datetime | None] = {
        "the client certificate": _end_of_certificate(shown.certificate),
        "the token": _end_of_token(shown.token),
    }
    return {what: end for what, end in found.items() if end is not None}


def _end_of_certificate(pem: bytes) -> datetime | None:
    try:
        return pki.facts(pem).not_after if pem else None
    except pki.InvalidPem:
        return None


def _end_of_token(token: str) -> datetime | None:
    """That of a JWT, which a service account's token is; others keep it to themselves."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return datetime.fromtimestamp(msgspec.json.decode(claims, type=_Claims).exp, UTC)
    except (ValueError, OverflowError, OSError, RecursionError):
        return None


class _Claims(msgspec.Struct):
    exp: float
