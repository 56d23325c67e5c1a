"""Who asks: a client certificate, a bearer token, or nobody in particular.

As on kube-apiserver: a certificate's common name is the user and its organizations are groups;
`--token-auth-file` is CSV of token, user, uid and (optional, quoted) groups; a wrong token is 401,
none at all is `system:anonymous`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from kapy.kube.errors import KapyError, Unauthorized
from kapy.kube.http import ANONYMOUS, User

AUTHENTICATED = "system:authenticated"


class BadTokenFile(KapyError):
    """The token file cannot be used; the message says why and never shows a token."""


def authenticated(name: str, groups: tuple[str, ...] = (), uid: str = "") -> User:
    """A user that proved who it is."""
    return User(name, (*groups, AUTHENTICATED) if AUTHENTICATED not in groups else groups, uid)


def read_tokens(path: Path) -> dict[str, User]:
    """The users of a token file by token. Raises BadTokenFile."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadTokenFile(f"the token file {path} cannot be read: {error}") from error
    users: dict[str, User] = {}
    for number, row in enumerate(rows, 1):
        if len(row) < 3:
            raise BadTokenFile(
                f"the token file {path} must have at least three columns (token, user name, user "
                f"uid); row {number} has {len(row)}"
            )
        token, name, uid, *more = (cell.strip() for cell in row)
        if not token or not name:
            raise BadTokenFile(f"row {number} of the token file {path} has no token or no user")
        groups = tuple(one.strip() for one in more[0].split(",") if one.strip()) if more else ()
        users[token] = authenticated(name, groups, uid)
    return users


class Authentication:
    """Decides who a request is from."""

    def __init__(self, tokens: Mapping[str, User] | None = None) -> None:
        self._tokens = dict(tokens or {})
        self.issued: Callable[[str, tuple[str, ...]], User | None] | None = None

    def of_token(self, token: str, audiences: tuple[str, ...] = ()) -> User | None:
        """Whose token it is: one of the file, or one that the server issued (`issued` says)."""
        found = self._tokens.get(token)
        if found is None and self.issued is not None and token.count(".") == 2:
            found = self.issued(token, audiences)
        return found

    def user(self, authorization: str, peer: User | None) -> User:
        """The user of a request. Raises Unauthorized.

        authorization: the header, "" when absent. peer: who the connection's certificate names.
        """
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() == "bearer" and token and " " not in token:
            if peer is not None:
                return peer
            found = self.of_token(token)
            if found is None:
                raise Unauthorized("Unauthorized")
            return found
        return peer or ANONYMOUS


def certificate_user(certificate: Mapping[str, object] | None) -> User | None:
    """The user that a verified peer certificate (as `SSLObject.getpeercert` tells it) names."""
    if not certificate:
        return None
    name, groups = "", []
    subject: tuple[tuple[tuple[str, str], ...], ...] = certificate.get("subject", ())  # type: ignore[assignment]
    for relative in subject:
        for key, value in relative:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return authenticated(name, tuple(groups)) if name else None
