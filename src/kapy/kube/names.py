"""Names of kinds and resources, and their URLs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class GroupKind(NamedTuple):
    """A kind without a version: what a contract-versioned reference names."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersionKind(NamedTuple):
    """A kind in one version, as `apiVersion` and `kind` name it ("" is the core group)."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split an apiVersion: `apps/v1` → ("apps", "v1"); `v1` → ("", "v1")."""
    group, _, version = api_version.rpartition("/")
    return group, version


@dataclass(frozen=True)
class Resource:
    """One served resource: group, version, plural, kind and scope."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @cached_property
    def group_resource(self) -> str:
        """Return resource and group as in messages and CRD names: `machines.cluster.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def root(self) -> str:
        """Return the URL prefix: `/api/v1` or `/apis/<group>/<version>`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of a collection, an object or a subresource."""
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        path = f"{self.root}{scope}/{self.plural}"
        if name:
            path = f"{path}/{name}"
        return f"{path}/{subresource}" if subresource else path


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("", "v1", "events", "Event")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)


def path_segment_errors(name: str, *, prefix: bool = False) -> list[str]:
    """Return the errors of a name, or of its beginning, as a path segment."""
    if name in (".", "..") and not prefix:
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in "/%" if sign in name]
