"""Access control of one server: RBAC, issued tokens and impersonation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from kapy.apiserver.auth.authentication import ISSUER, Authenticator, Identity
from kapy.apiserver.auth.authorization import Authorizer
from kapy.apiserver.auth.impersonation import ImpersonationAuthorizer, ImpersonationRequest
from kapy.apiserver.auth.rbac.escalation import EscalationCheck
from kapy.apiserver.auth.rbac.grants import GROUP, RBACAuthorizer
from kapy.apiserver.auth.tokens import ServiceAccountTokens
from kapy.apiserver.controllers.cluster_roles import ClusterRoleAggregation, ensure_default_roles
from kapy.apiserver.request.body import read_object
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.negotiation import check_representation
from kapy.apiserver.request.request_info import request_info
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.reviews import ReviewAuthorizer
from kapy.kube.http import Reply, Request, User

_KEYS: Final = "/openid/v1/jwks"
_KEY_SET: Final = "application/jwk-set+json"
_CONFIGURATION: Final = "/.well-known/openid-configuration"


class AccessControl:
    """Authorization and issued tokens of one server, initialized at the first use.

    authorize: authorizes users other than superusers; None: by the roles in the store. directory:
    the directory of the token key, None: in memory.
    """

    __slots__ = (
        "_aggregation",
        "_directory",
        "_impersonation",
        "_server",
        "_tokens",
        "authentication",
        "authorize",
        "grants",
    )

    def __init__(
        self,
        server: ServerContext,
        grants: RBACAuthorizer,
        authorize: Authorizer,
        directory: Path | None,
    ) -> None:
        self._server = server
        self._directory = directory
        self._tokens: ServiceAccountTokens | None = None
        self._aggregation: ClusterRoleAggregation | None = None
        self._impersonation = ImpersonationAuthorizer()
        self.grants = grants
        self.authorize = authorize
        self.authenticate_by(Authenticator())

    @property
    def tokens(self) -> ServiceAccountTokens:
        """The issuer of service accounts' tokens."""
        if self._tokens is None:
            server = self._server
            self._tokens = ServiceAccountTokens(server.store, server.clock, self._directory)
        return self._tokens

    def authenticate_by(self, authentication: Authenticator) -> None:
        """Make an Authentication accept issued tokens, and TokenReviews use it."""
        authentication.identify_issued = self._issued_identity
        self.authentication = authentication

    def _issued_identity(self, token: str, audiences: Sequence[str]) -> Identity | None:
        return self.tokens.identity(token, audiences) if token.count(".") == 2 else None

    def review_authorizer(self) -> ReviewAuthorizer:
        """Return the authorizer that answers access reviews."""
        grants = self.grants if self.authorize is self.grants else None
        return ReviewAuthorizer(self.authorize, grants, self.authentication.review_token)

    def add_checks(self, context: RequestContext) -> None:
        """Set up the additional checks of a request by users other than superusers."""
        context.authorize = self.authorize
        if context.kind.resource.group == GROUP:
            sent = partial(read_object, context) if context.verb == "update" else None
            context.guard = EscalationCheck(self.grants, context.name, sent)

    def impersonate(self, request: Request, user: User, wish: ImpersonationRequest) -> User:
        """Return the user that a request impersonates. Raises Forbidden."""
        return self._impersonation(wish, request_info(request).attributes(user), self.authorize)

    def openid_page(self, request: Request) -> Reply | None:
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
        ensure_default_roles(self._server)
        self.grants.defaults = False
        self.grants.reset()
        if self._aggregation is None:
            self._aggregation = ClusterRoleAggregation(self._server)
