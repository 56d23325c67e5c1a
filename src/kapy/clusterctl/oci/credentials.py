"""Authentication at a registry: credentials and the tokens for which they are exchanged.

The protocol is the token authentication of the distribution specification. The variables are those
of Cluster API Operator: OCI_USERNAME and OCI_PASSWORD, OCI_ACCESS_TOKEN, or OCI_REFRESH_TOKEN.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from kapy.clusterctl.repository.web import (
    ServerUnreached,
    WebClient,
    documented_errors,
    refusal,
    secret,
)

if TYPE_CHECKING:
    from kapy.clusterctl.config.variables import Variables

_PART: Final = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials for a registry; all are empty for public content."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    access_token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)

    @property
    def basic(self) -> Mapping[str, str]:
        """The header of basic authentication; empty without a user name and password."""
        if not self.username and not self.password:
            return {}
        pair = b64encode(f"{self.username}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}


def credentials_of(variables: Variables) -> Credentials:
    """Return the credentials in the configuration."""
    names = ("OCI_USERNAME", "OCI_PASSWORD", "OCI_ACCESS_TOKEN", "OCI_REFRESH_TOKEN")
    return Credentials(*(secret(variables, name) for name in names))


async def authorization(
    web: WebClient, challenge: str, credentials: Credentials, scope: str, *, tls: bool
) -> Mapping[str, str]:
    """Return the header that answers a registry's challenge (`WWW-Authenticate`); empty if none
    does.

    tls: the registry is reached over TLS; then the token service must be, too. Raises
    ServerUnreached.
    """
    scheme, _, rest = challenge.partition(" ")
    if scheme.lower() == "basic":
        return credentials.basic
    if scheme.lower() != "bearer":
        return {}
    if credentials.access_token:
        return {"Authorization": f"Bearer {credentials.access_token}"}
    parts = dict(_PART.findall(rest))
    if tls and not parts.get("realm", "").startswith("https://"):
        raise ServerUnreached(
            f"a registry wants its tokens to be asked for without TLS: {challenge}"
        )
    token = await _token(web, parts, credentials, parts.get("scope") or scope)
    return {"Authorization": f"Bearer {token}"} if token else {}


async def _token(
    web: WebClient, parts: Mapping[str, str], credentials: Credentials, scope: str
) -> str:
    realm, service = parts.get("realm", ""), parts.get("service", "")
    query = {"service": service, "scope": scope}
    if credentials.refresh_token:
        form = {"grant_type": "refresh_token", "client_id": "kapy", **query}
        form["refresh_token"] = credentials.refresh_token
        result = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = await web.ask("POST", realm, result, urlencode(form).encode())
    else:
        mark = "&" if "?" in realm else "?"
        answer = await web.get(f"{realm}{mark}{urlencode(query)}", credentials.basic)
    if answer.status in (401, 403):
        return ""
    if answer.status != 200:
        raise ServerUnreached(
            f"{realm}, which the registry names for tokens, answered {refusal(answer)}"
        )
    with documented_errors(answer):
        told_back = answer.json()
        return str(told_back.get("token") or told_back["access_token"])
