"""The parsed request: verb, resource, namespace, name (kube-apiserver's RequestInfo).

Routing, authorization, impersonation, audit and handlers all use it, so that a request is executed
exactly as it was authorized.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from msgspec import Struct, structs

from kapy.apiserver.auth.authorization import Attributes
from kapy.apiserver.request.parameters import bool_parameter, int_parameter
from kapy.kube.errors import BadRequest
from kapy.kube.http import Request, User
from kapy.kube.selectors import InvalidSelector, parse_fields, parse_labels
from kapy.kube.text_cache import MAX_TEXT

_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
PROBES: Final = ("healthz", "livez", "readyz")
"""The first segment of the paths of health probes."""
_PREFIXES: Final = ("proxy", "watch")
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_OF_NAMESPACES: Final = ("status", "finalize")


class RequestInfo(Struct, eq=False):  # every request creates one; a Struct is created in C
    """The resource and verb of a request.

    verb: the API verb (`list`, `patch`), or the HTTP method in lower case for a non-resource path.
    resource: the plural name. count: the number of path segments from the resource on. prefix:
    `watch` or `proxy` before the resource. scoped: whether the path has a namespace before the
    resource. selectors: the query, if the verb supports selectors.
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
    count: int = 0
    prefix: str = ""
    scoped: bool = False
    selectors: Mapping[str, str] = _NOTHING

    def attributes(self, user: User) -> Attributes:
        """Return the authorization attributes for `user`."""
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
            None,
            self.selectors.get("fieldSelector", ""),
            self.selectors.get("labelSelector", ""),
        )


def request_info(request: Request) -> RequestInfo:
    """Return the resource and verb of a request, parsed from its path and method.

    Every request can be parsed; routing decides whether it is served.
    """
    path, method = request.path, request.method
    info = _known(path, method) if len(path) <= MAX_TEXT else _parse_cached(path, method)
    if info.name or not info.resource or info.verb not in _OF_COLLECTIONS:
        return info
    return _of_collection(info, request.query)


def object_info(path: str) -> RequestInfo | None:
    """Return the parsed GET of one object, None for another request or an unusual path."""
    if len(path) > MAX_TEXT:
        return None
    info = _known(path, "GET")
    is_object = info.name and not info.subresource and not info.prefix
    return info if is_object else None


def _parse_cached(path: str, method: str) -> RequestInfo:
    """Parse the path and method of a request."""
    # Objects are many and collections few, so the path before the name is usually cached.
    collection, _, name = path.rpartition("/")
    if name and not collection.endswith("/") and len(collection) <= MAX_TEXT:
        around = _parse_collection(collection, method)
        if around.count == 1 and not around.prefix and around.resource != "namespaces":
            return _of_object(around, path, name)
    return _parse(path, method)


def _of_object(collection: RequestInfo, path: str, name: str) -> RequestInfo:
    """Return the RequestInfo for an object of a collection."""
    return RequestInfo(
        path,
        collection.verb,
        is_resource=True,
        group=collection.group,
        version=collection.version,
        namespace=collection.namespace,
        resource=collection.resource,
        name=name,
        count=2,
        scoped=collection.scoped,
    )


def _parse(path: str, method: str) -> RequestInfo:
    """Parse a path segment by segment."""
    parts = path.split("/")
    if not parts[-1] or not parts[1:] or not parts[1] or parts[0]:  # else as if it were stripped
        parts = ["", *path.strip("/").split("/")]
    root = parts[1]
    at = 3 if root == "api" else 4 if root == "apis" else len(parts)  # after the version
    if len(parts) <= at:
        return RequestInfo(path, method.lower())
    verb, prefix, namespace, subresource = _VERBS.get(method, ""), "", "", ""
    group, version = parts[2] if at == 4 else "", parts[at - 1]
    scoped = False
    if parts[at] in _PREFIXES:
        if len(parts) == at + 1:
            return RequestInfo(path, verb, is_resource=True, group=group, version=version)
        verb = prefix = parts[at]
        at += 1
    if parts[at] == "namespaces" and len(parts) > at + 1:
        namespace = parts[at + 1]
        if len(parts) > at + 2 and parts[at + 2] not in _OF_NAMESPACES:
            at += 2
            scoped = True
    count, name = len(parts) - at, ""
    if count > 1:
        name = parts[at + 1]
        if count > 2 and verb != "proxy":
            subresource = parts[at + 2]
    return RequestInfo(
        path,
        verb,
        is_resource=True,
        group=group,
        version=version,
        namespace=namespace,
        resource=parts[at],
        subresource=subresource,
        name=name,
        count=count,
        prefix=prefix,
        scoped=scoped,
    )


_parse_collection: Final = lru_cache(maxsize=256)(_parse)
_known: Final = lru_cache(maxsize=4096)(_parse_cached)
"""A cache, because controllers request the same objects repeatedly. Its values are never
changed.
"""

_OF_COLLECTIONS: Final = ("get", "delete")


def _of_collection(base: RequestInfo, query: Mapping[str, str]) -> RequestInfo:
    """Complete the request for a collection by its query: list, watch or deletecollection."""
    info = structs.replace(base, selectors=query)
    if info.verb == "delete":
        info.verb = "deletecollection"
        return info
    info.verb = "watch" if query and bool_parameter(query, "watch") else "list"
    if "fieldSelector" in query:
        info.name = _selected_name(query)
    return info


def _selected_name(query: Mapping[str, str]) -> str:
    """Return the name that a field selector requires, "" if there is none or the query is
    invalid.
    """
    try:
        fields = parse_fields(query["fieldSelector"])
        parse_labels(query.get("labelSelector", ""))
        int_parameter(query, "limit")
        int_parameter(query, "timeoutSeconds")
    except (InvalidSelector, BadRequest):
        return ""
    name = fields.exact("metadata.name") or ""
    return "" if name in (".", "..") or "/" in name or "%" in name else name
