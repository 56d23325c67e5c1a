"""What is asked for, and the seam that decides: an Authorizer, which raises Forbidden.

The one that servers have is `kapy.apiserver.rbac.grants.Grants`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapy.kube import Document
from kapy.kube.errors import Forbidden
from kapy.kube.http import User

if TYPE_CHECKING:
    from kapy.apiserver.routes import Route

SUPERUSERS = "system:masters"


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
    def of_resource(
        cls, user: User, verb: str, route: Route, query: Mapping[str, str] | None = None
    ) -> Attributes:
        """The attributes of a request for a resource.

        A collection that a field selector reduces to one name is a request for that name.
        """
        one = route.kind.resource
        space, name = route.namespace, route.name
        if one.plural == "namespaces" and not one.group:
            space = name  # a namespace is in itself
        if not name and query and "fieldSelector" in query:
            name = _selected_name(query["fieldSelector"])
        return cls(
            user,
            verb,
            one.group,
            one.version,
            one.plural,
            route.subresource,
            space,
            name,
        )

    def refusal(self, why: str = "") -> Forbidden:
        """kube-apiserver's sentence for a user who may not."""
        why = f": {why}" if why else ""
        user = f'User "{self.user.name}" cannot {self.verb}'
        if not self.resource:
            return Forbidden(f'forbidden: {user} path "{self.path}"{why}', details={})
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
            f'"{what}" in API group "{self.group}" {where}{why}',
            details=details,
        )


Authorizer = Callable[[Attributes], str]
"""Says why the user may ("" for superusers); raises Forbidden when the user may not."""


def _selected_name(selector: str) -> str:
    """The one name that a field selector asks for, "" when it asks for more or less."""
    for part in selector.split(","):
        field, _, value = part.partition("=")
        if field.strip() == "metadata.name" and "!" not in field:
            return value.removeprefix("=").strip()
    return ""
