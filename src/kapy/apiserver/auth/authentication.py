"""Authentication by client certificate or bearer token, and anonymous requests.

As on kube-apiserver: a certificate's common name is the user and its organizations are groups;
`--token-auth-file` is CSV of token, user, uid and (optional, quoted) groups; an invalid token is
answered with 401, and a request without one is `system:anonymous`. A server accepts only tokens
whose audience it is itself.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kapy.kube.errors import KapyError, Unauthorized
from kapy.kube.http import ANONYMOUS, User

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
"""The issuer of service account tokens."""
API_AUDIENCES: Final = (ISSUER,)
"""The audience of the server itself: the issuer, like kube-apiserver without `--api-audiences`."""


def intersect_audiences(has: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted audiences that a token has, in the order of `wanted`."""
    return tuple(item for item in wanted if item in has)


AUTHENTICATED = "system:authenticated"
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
"""The extra key for the id of the user's credential."""


class InvalidTokenFile(KapyError):
    """The token file cannot be used; the message says why and never shows a token."""


def authenticated_user(name: str, groups: tuple[str, ...] = (), uid: str = "") -> User:
    """Return a user with the group system:authenticated."""
    return User(name, (*groups, AUTHENTICATED) if AUTHENTICATED not in groups else groups, uid)


def read_tokens(path: Path) -> dict[str, User]:
    """Return the users of a token file by token. Raises InvalidTokenFile."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidTokenFile(f"the token file {path} cannot be read: {error}") from error
    users: dict[str, User] = {}
    for number, row in enumerate(rows, 1):
        if len(row) < 3:
            raise InvalidTokenFile(
                f"the token file {path} must have at least three columns (token, user name, user "
                f"uid); row {number} has {len(row)}"
            )
        token, name, uid, *more = (cell.strip() for cell in row)
        if not token or not name:
            raise InvalidTokenFile(f"row {number} of the token file {path} has no token or no user")
        groups = tuple(part.strip() for part in more[0].split(",") if part.strip()) if more else ()
        users[token] = authenticated_user(name, groups, uid)
    return users


class InvalidToken(KapyError):
    """A token is not valid here. The message gives the reason and never shows the token."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The user of a token. audiences: the requested audiences that the token has."""

    user: User
    audiences: tuple[str, ...]


def bearer_token(authorization: str) -> str:
    """Return the token of an `Authorization` header, "" if it has none.

    As on kube-apiserver, text after the token is ignored, and a second space before it makes it
    invalid.
    """
    words = authorization.strip().split(" ", 2)
    return words[1] if len(words) > 1 and words[0].lower() == "bearer" else ""


class Authenticator:
    """The authenticator of requests.

    identify_issued: returns the identity of a token that a server issued, None for other tokens.
    Raises InvalidToken.
    """

    def __init__(self, tokens: Mapping[str, User] | None = None) -> None:
        self._tokens = dict(tokens or {})
        self.identify_issued: Callable[[str, Sequence[str]], Identity | None] | None = None

    def token_identity(self, token: str, audiences: Sequence[str] = API_AUDIENCES) -> Identity:
        """Return the identity of a token from the file or issued by the server. Raises
        InvalidToken.

        Tokens of the file have the server's own audience only.
        """
        user = self._tokens.get(token)
        own = intersect_audiences(API_AUDIENCES, audiences)
        if user is not None and own:
            return Identity(user, own)
        try:
            identity = (
                None if self.identify_issued is None else self.identify_issued(token, audiences)
            )
        except InvalidToken as error:
            raise InvalidToken(f"[{_INVALID}, {error}]") from None
        if identity is None:
            raise InvalidToken(_INVALID)
        return identity

    def review_token(self, token: str, audiences: Sequence[str] = API_AUDIENCES) -> Identity:
        """Return the identity that a request with a bearer token would have. Raises
        InvalidToken.
        """
        result = bearer_token(f"Bearer {token}")
        return (
            self.token_identity(result, audiences)
            if result
            else Identity(ANONYMOUS, tuple(audiences))
        )

    def authenticate(self, authorization: str, peer: User | None) -> User:
        """Return the user of a request. Raises Unauthorized.

        authorization: the header, "" if absent. peer: the user of the connection's client
        certificate.
        """
        if peer is not None:
            return peer
        token = bearer_token(authorization)
        if not token:
            return ANONYMOUS
        try:
            return self.token_identity(token).user
        except InvalidToken:
            raise Unauthorized("Unauthorized") from None


_INVALID: Final = "invalid bearer token"


def certificate_user(certificate: Mapping[str, object] | None, encoded: bytes) -> User | None:
    """Return the user of a verified peer certificate (from `SSLObject.getpeercert`).

    encoded: the certificate in DER; its hash identifies it in logs.
    """
    if not certificate:
        return None
    result: dict[str, list[str]] = {}
    subject: tuple[tuple[tuple[str, str], ...], ...] = certificate.get("subject", ())  # type: ignore[assignment]
    for relative in subject:
        for key, value in relative:
            result.setdefault(key, []).append(value)
    names, uids = result.get("commonName"), result.get(_UID_OF_SUBJECT, [""])
    if not names or not names[-1] or len(uids) > 1:
        return None
    groups = tuple(result.get("organizationName", ()))
    user = authenticated_user(names[-1], groups, uids[0])
    identity = f"X509SHA256={hashlib.sha256(encoded).hexdigest()}"
    return User(user.name, user.groups, user.uid, {CREDENTIAL: (identity,)})


_UID_OF_SUBJECT: Final = "1.3.6.1.4.1.57683.2"
"""Kubernetes' attribute of a subject for the uid of a user."""
