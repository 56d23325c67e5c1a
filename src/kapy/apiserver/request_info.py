"""The one reading of a request: verb, resource, namespace, name (kube-apiserver's RequestInfo).

Routing, authorization, impersonation, audit and the choice of the handler all use it, so that
nothing is authorized as one thing and done as another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kapy.apiserver.authorization import Attributes
from kapy.apiserver.parameters import flag, whole
from kapy.kube.errors import BadRequest
from kapy.kube.http import Request, User
from kapy.kube.selectors import InvalidSelector, parse_fields, parse_labels

_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_PREFIXES: Final = ("proxy", "watch")
_OF_NAMESPACES: Final = ("status", "finalize")
_WITH_SELECTORS: Final = ("list", "watch", "deletecollection")


@dataclass(slots=True)
class RequestInfo:
    """What a request asks for.

    verb: of the API (`list`, `patch`); of a path that is no resource's, the method in lower case.
    resource: the plural. parts: resource, name, subresource and what follows. prefix: `watch` or
    `proxy` before the resource. scoped: the path names a namespace before the resource.
    field_selector, label_selector: as written, where the verb takes selectors.
    """

    path: str
    verb: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: list[str] | tuple[str, ...] = ()
    prefix: str = ""
    scoped: bool = False
    field_selector: str = ""
    label_selector: str = ""

    def attributes(self, user: User) -> Attributes:
        """What authorization decides about when `user` asks for this."""
        if not self.is_resource:
            return Attributes(user, self.verb, path=self.path)
        return Attributes(
            user,
            self.verb,
            self.group,
            self.version,
            self.resource,
            self.subresource,
            self.namespace,
            self.name,
            field_selector=self.field_selector,
            label_selector=self.label_selector,
        )


def request_info(request: Request) -> RequestInfo:
    """Read a request. Everything can be read; whether it is served is decided later."""
    path, method = request.path, request.method
    parts = path.strip("/").split("/")
    info = RequestInfo(path, method.lower())
    if len(parts) < 3:
        return info
    if parts[0] == "api":
        rest = parts[1:]
    elif parts[0] == "apis" and len(parts) > 3:
        info.group, rest = parts[1], parts[2:]
    else:
        return info
    info.is_resource = True
    info.version, rest = rest[0], rest[1:]
    if rest[0] in _PREFIXES:
        if len(rest) < 2:
            return info
        info.verb = info.prefix = rest[0]
        rest = rest[1:]
    else:
        info.verb = _VERBS.get(method, "")
    _place(info, rest)
    if not info.name:
        _collection(info, request.query)
    return info


def _place(info: RequestInfo, rest: list[str]) -> None:
    """Take the path apart from the resource (or the namespace before it) on."""
    if rest[0] == "namespaces" and len(rest) > 1:
        info.namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest = rest[2:]
            info.scoped = True
    info.parts = rest
    info.resource = rest[0]
    if len(rest) > 1:
        info.name = rest[1]
        if len(rest) > 2 and info.verb != "proxy":
            info.subresource = rest[2]


def _collection(info: RequestInfo, query: Mapping[str, str]) -> None:
    """Complete the verb of a request without a name, and what its query says."""
    verb = info.verb
    if verb == "get":
        info.verb = "list"
        if query:
            if flag(query, "watch"):
                info.verb = "watch"
            if query.get("fieldSelector"):
                info.name = _selected_name(query)
    elif verb == "delete":
        info.verb = "deletecollection"
    if query and not info.prefix and info.verb in _WITH_SELECTORS:
        info.field_selector = query.get("fieldSelector", "")
        info.label_selector = query.get("labelSelector", "")


def _selected_name(query: Mapping[str, str]) -> str:
    """The one name that the list is about, "" where the query has an error or names no object."""
    try:
        fields = parse_fields(query["fieldSelector"])
        parse_labels(query.get("labelSelector", ""))
        whole(query, "limit")
        whole(query, "timeoutSeconds")
    except (InvalidSelector, BadRequest):
        return ""
    name = fields.exact("metadata.name") or ""
    return "" if name in (".", "..") or "/" in name or "%" in name else name
