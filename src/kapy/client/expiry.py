"""Detects that a client's credential has expired, to explain a server's refusal.

Servers only answer "Unauthorized", or close the connection; an expired certificate or token is the
most likely reason, and the client can detect it.
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
    """The expiry times of one credential, read on demand."""

    def __init__(self, credential: Credential) -> None:
        self._shown = credential
        self._ends: dict[str, datetime] | None = None

    def expired_part(self, now: datetime) -> str:
        """Return the part that has expired, and when; "" if none is known to have."""
        if self._ends is None:
            self._ends = _expiry_times(self._shown)
        parts = (
            f"{what} ended at {end:%F %T} UTC" for what, end in self._ends.items() if end < now
        )
        return " and ".join(parts)

    def explain_refusal(self, reply: Reply, now: datetime) -> Reply:
        """Return the refusal, with a note about an expired credential."""
        reason = self.expired_part(now)
        if not reason:
            return reply
        answer = f"{failure_of(reply).message}: {reason}; renew it"
        return Reply(reply.status, Unauthorized(answer).status(), reply.headers)


def _expiry_times(credential: Credential) -> dict[str, datetime]:
    result: dict[str, datetime | None] = {
        "the client certificate": _certificate_expiry(credential.certificate),
        "the token": _token_expiry(credential.token),
    }
    return {what: end for what, end in result.items() if end is not None}


def _certificate_expiry(pem: bytes) -> datetime | None:
    try:
        return pki.facts(pem).not_after if pem else None
    except pki.InvalidPem:
        return None


def _token_expiry(token: str) -> datetime | None:
    """Return the expiry of a JWT, such as a service account's token; other tokens do not reveal
    theirs.
    """
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
