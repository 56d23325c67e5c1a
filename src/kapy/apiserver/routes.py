"""From a path to what is meant: group, version, resource, namespace, name, subresource."""

from __future__ import annotations

from dataclasses import dataclass

from kapy.apiserver.refusals import PageNotFound, no_such_resource, not_found, nothing_runs
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.registry import Registry


@dataclass(slots=True)
class Route:
    """A resource path, resolved."""

    kind: Kind
    namespace: str
    name: str
    subresource: str
    watch: bool = False  # the old /watch/ prefix


def resolve(registry: Registry, path: str) -> Route | None:
    """The Route of a path, None when it is no resource path. Raises NotFound."""
    parts = path.split("/")
    if parts[-1] == "" and len(parts) > 2:
        parts.pop()
    if len(parts) < 4 or parts[0]:
        return None
    if "" in parts[1:]:
        raise no_such_resource()
    root = parts[1]
    if root == "api":
        group, version, rest = "", parts[2], parts[3:]
    elif root == "apis" and len(parts) > 4:
        group, version, rest = parts[2], parts[3], parts[4:]
    else:
        return None
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    route = _route(registry, group, version, rest)
    if route is None:
        raise _nothing(registry, group, version)
    route.watch = watch
    return route


def _route(registry: Registry, group: str, version: str, rest: list[str]) -> Route | None:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not _of_namespaces(group, rest):
        namespace, rest = rest[1], rest[2:]
    kind = registry.find(group, version, rest[0])
    if kind is None:
        return None
    if len(rest) > 2 and rest[2] in _NEEDS_KUBELETS.get(kind.table, ()):
        raise nothing_runs(kind, rest[1], rest[2])
    if len(rest) > 3:
        return None
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if kind.namespaced:
        if name and not namespace:
            return None
    elif namespace:
        return None
    if subresource and subresource not in kind.subresources:
        if kind.custom:
            raise not_found(kind, name)
        return None
    return Route(kind, namespace, name, subresource)


_NEEDS_KUBELETS = {
    "pods": ("log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers"),
    "nodes": ("proxy",),
    "services": ("proxy",),
}


def _of_namespaces(group: str, rest: list[str]) -> bool:
    return not group and len(rest) == 3 and rest[2] in ("status", "finalize")


def _nothing(registry: Registry, group: str, version: str) -> Exception:
    """Kubernetes' own groups answer a Status, anything else a plain page."""
    kinds = [one for one in registry if one.resource.group == group]
    if not kinds or any(one.custom for one in kinds):
        return PageNotFound()
    del version
    return no_such_resource()
