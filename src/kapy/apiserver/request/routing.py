"""Resolution of a request path to a kind, namespace, name and subresource."""

from __future__ import annotations

from msgspec import Struct

from kapy.apiserver.errors import PageNotFound, no_such_resource
from kapy.apiserver.request.request_info import RequestInfo
from kapy.apiserver.resources.kind import CREATE_ONLY, Kind
from kapy.apiserver.resources.kind_errors import SubresourceNotFound, no_kubelet
from kapy.apiserver.resources.registry import Registry


class Route(Struct):
    """A resolved resource path."""

    kind: Kind
    namespace: str
    name: str
    subresource: str
    watch: bool = False  # the legacy /watch/ prefix


def resolve(registry: Registry, info: RequestInfo) -> Route | None:
    """Return the Route of a request, None for a non-resource path. Raises NotFound."""
    if not info.is_resource or info.path[:1] != "/":
        return None
    if "//" in info.path:
        outside = info.path.startswith("//")
        raise PageNotFound if outside else _not_found(registry, info.group, info.version)
    route = None if info.prefix == "proxy" else _route(registry, info)
    if route is None:
        raise _not_found(registry, info.group, info.version)
    return route


def _route(registry: Registry, info: RequestInfo) -> Route | None:
    kind = registry.find(info.group, info.version, info.resource)
    if kind is None:
        return None
    if info.subresource and info.subresource in _NEEDS_KUBELETS.get(kind.table, ()):
        raise no_kubelet(kind, info.name, info.subresource)
    if info.count > (2 if info.prefix else 3):
        return None
    if kind.namespaced:
        if not info.scoped and (info.count > 1 or kind.verbs == CREATE_ONLY):
            return None
    elif info.scoped:
        return None
    if info.subresource and info.subresource not in kind.subresources:
        if kind.custom:
            raise SubresourceNotFound(kind, info.name)
        return None
    namespace = info.namespace if info.scoped else ""
    name = info.name if info.count > 1 else ""
    return Route(kind, namespace, name, info.subresource, info.prefix == "watch")


_NEEDS_KUBELETS = {
    "pods": ("log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers"),
    "nodes": ("proxy",),
    "services": ("proxy",),
}


def _not_found(registry: Registry, group: str, version: str) -> Exception:
    """Return the 404 error: a Status for built-in groups, a plain page for others."""
    kinds = [kind for kind in registry if kind.resource.group == group]
    if not kinds or any(kind.custom for kind in kinds):
        return PageNotFound()
    del version
    return no_such_resource()
