"""Access control of one server: RBAC, issued tokens and impersonation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from kapy.apiserver.ask import Ask
from kapy.apiserver.audiences import ISSUER
from kapy.apiserver.authentication import Authentication, Identity
from kapy.apiserver.authorization import Authorizer
from kapy.apiserver.body import read_object
from kapy.apiserver.impersonation import Wish
from kapy.apiserver.impersonation_modes import Impersonation
from kapy.apiserver.negotiation import check_representation
from kapy.apiserver.plane import Plane
from kapy.apiserver.rbac.bootstrap import Aggregation, ensure_defaults
from kapy.apiserver.rbac.escalation import Escalation
from kapy.apiserver.rbac.grants import GROUP, Grants
from kapy.apiserver.request_info import request_info
from kapy.apiserver.tokens import ServiceTokens
from kapy.apiserver.verbs.reviews import Answering
from kapy.kube.http import Reply, Request, User

_KEYS: Final = "/openid/v1/jwks"
_KEY_SET: Final = "application/jwk-set+json"
_CONFIGURATION: Final = "/.well-known/openid-configuration"


class Access:
    """Authorization and issued tokens of one server, initialized at the first use.

    authorize: authorizes users other than superusers; None: by the roles in the store. directory:
    the directory of the token key, None: in memory.
    """

    __slots__ = (
        "_aggregation",
        "_directory",
        "_impersonation",
        "_plane",
        "_tokens",
        "authentication",
        "authorize",
        "grants",
    )

    def __init__(self, plane: Plane, authorize: Authorizer | None, directory: Path | None) -> None:
        self._plane = plane
        self._directory = directory
        self._tokens: ServiceTokens | None = None
        self._aggregation: Aggregation | None = None
        self._impersonation = Impersonation()
        self.grants = Grants(plane.store)
        self.authorize: Authorizer = authorize or self.grants
        plane.authorize = self.authorize
        self.authenticate_by(Authentication())

    @property
    def tokens(self) -> ServiceTokens:
        """The issuer of service accounts' tokens."""
        if self._tokens is None:
            plane = self._plane
            self._tokens = ServiceTokens(plane.store, plane.clock, self._directory)
        return self._tokens

    def authenticate_by(self, authentication: Authentication) -> None:
        """Make an Authentication accept issued tokens, and TokenReviews use it."""
        authentication.issued = self._issued
        self.authentication = authentication

    def _issued(self, token: str, audiences: Sequence[str]) -> Identity | None:
        return self.tokens.identity(token, audiences) if token.count(".") == 2 else None

    def answering(self) -> Answering:
        """Return the authorizer that answers access reviews."""
        grants = self.grants if self.authorize is self.grants else None
        return Answering(self.authorize, grants, self.authentication.reviewed)

    def equip(self, ask: Ask) -> None:
        """Set up the additional checks of a request by users other than superusers."""
        ask.authorize = self.authorize
        if ask.kind.resource.group == GROUP:
            sent = partial(read_object, ask) if ask.verb == "update" else None
            ask.guard = Escalation(self.grants, ask.name, sent)

    def impersonated(self, request: Request, user: User, wish: Wish) -> User:
        """Return the user that a request impersonates. Raises Forbidden."""
        return self._impersonation(wish, request_info(request).attributes(user), self.authorize)

    def page(self, request: Request) -> Reply | None:
        """Answer requests for the OpenID configuration and the public keys of issued tokens."""
        if request.method != "GET":
            return None
        if request.path == _KEYS:
            check_representation(request.headers.get("accept", ""), _KEY_SET)
            return Reply(200, self.tokens.keys(), {"content-type": _KEY_SET})
        if request.path == _CONFIGURATION:
            host = request.headers.get("host", "")
            return Reply(200, self.tokens.configuration(f"https://{host}" if host else ISSUER))
        return None

    def start(self) -> None:
        """Store the default roles, so that users can change them, and start role aggregation."""
        ensure_defaults(self._plane)
        self.grants.defaults = False
        self.grants.reset()
        if self._aggregation is None:
            self._aggregation = Aggregation(self._plane)
