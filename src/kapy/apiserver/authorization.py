"""Who may do what. RBAC is a seam: an Authorizer decides, and raises Forbidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapy.kube import Document
from kapy.kube.errors import Forbidden
from kapy.kube.http import User

if TYPE_CHECKING:
    from kapy.apiserver.routes import Route

SUPERUSERS = "system:masters"
OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version")


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for: a resource, or (resource "") a path."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @classmethod
    def of_resource(cls, user: User, verb: str, route: Route) -> Attributes:
        """The attributes of a request for a resource."""
        one = route.kind.resource
        space = route.namespace
        if one.plural == "namespaces" and not one.group:
            space = route.name  # a namespace is in itself
        return cls(
            user,
            verb,
            one.group,
            one.version,
            one.plural,
            route.subresource,
            space,
            route.name,
        )

    def refusal(self) -> Forbidden:
        """kube-apiserver's sentence for a user who may not."""
        user = f'User "{self.user.name}" cannot {self.verb}'
        if not self.resource:
            return Forbidden(f'forbidden: {user} path "{self.path}"', details={})
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        qualified = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        named = f' "{self.name}"' if self.name else ""
        details: Document = {"name": self.name} if self.name else {}
        if self.group:
            details["group"] = self.group
        details["kind"] = self.resource
        return Forbidden(
            f"{qualified}{named} is forbidden: {user} resource "
            f'"{what}" in API group "{self.group}" {where}',
            details=details,
        )


Authorizer = Callable[[Attributes], None]
"""Raises Forbidden when the user may not."""


def superusers_only(wanted: Attributes) -> None:
    """`system:masters` may do everything; everybody may ask for health and version."""
    if SUPERUSERS in wanted.user.groups:
        return
    if not wanted.resource and wanted.verb == "get" and wanted.path in OPEN_PATHS:
        return
    raise wanted.refusal()
