"""Authorization: the attributes of a request, and the Authorizer interface.

Servers use `kapy.apiserver.auth.rbac.grants.RBACAuthorizer`.
`kapy.apiserver.request.request_info` derives the attributes of a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kapy.kube import Document
from kapy.kube.errors import Forbidden
from kapy.kube.go_literals import go_quoted
from kapy.kube.http import User

SUPERUSERS = "system:masters"

_AS_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Attributes(NamedTuple):
    """The attributes of a request that is authorized: a resource, or (if `path` is not None) a URL
    path.

    field_selector, label_selector: the selectors as in the query; RBAC ignores them.
    """

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    field_selector: str = ""
    label_selector: str = ""

    @property
    def is_resource(self) -> bool:
        return self.path is None

    def forbidden_error(self, why: str = "") -> Forbidden:
        """Return kube-apiserver's error for a user who lacks the permission."""
        why = f": {why}" if why else ""
        result = f"{self._denial().translate(_AS_HTML)}{why}"
        if not (self.group or self.resource):
            details: Document = {"name": self.name} if self.name else {}
            return Forbidden(f"forbidden: {result}", details=details)
        details = {"name": self.name} if self.name else {}
        if self.group:
            details["group"] = self.group
        if self.resource:
            details["kind"] = self.resource
        qualified = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" {go_quoted(self.name)}" if self.name else ""
        return Forbidden(f"{qualified}{named} is forbidden: {result}", details=details)

    def _denial(self) -> str:
        cannot = f"User {go_quoted(self.user.name)} cannot {self.verb}"
        if self.path is not None:
            return f"{cannot} path {go_quoted(self.path)}"
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = (
            f"in the namespace {go_quoted(self.namespace)}"
            if self.namespace
            else "at the cluster scope"
        )
        group = go_quoted(self.group)
        return f"{cannot} resource {go_quoted(what)} in API group {group} {where}"


Authorizer = Callable[[Attributes], str]
"""Returns why the user is allowed ("" for superusers); raises Forbidden otherwise."""
