"""The roles that `kubeadm init` makes, so that machines may join."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.providers.inmemory.workload.objects import PUBLIC, SYSTEM, Objects

RBAC: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Final = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = Resource(
    RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
ROLES: Final = Resource(RBAC, "v1", "roles", "Role")
ROLE_BINDINGS: Final = Resource(RBAC, "v1", "rolebindings", "RoleBinding")


def ensure_roles(objects: Objects) -> None:
    """Create the roles and bindings that kubeadm creates; all clusters share their contents."""
    for resource, namespace, name, content in _ROLES:
        objects.ensure(resource, namespace, name, partial(dict, content))


_BOOTSTRAPPERS: Final = "system:bootstrappers:kubeadm:default-node-token"


def _rule(verbs: str, resources: str, group: str = "", names: Iterable[str] = ()) -> Document:
    rule: Document = {
        "apiGroups": [group],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    if names:
        rule["resourceNames"] = list(names)
    return rule


def _binding(role: str, *subjects: tuple[str, str], kind: str = "ClusterRole") -> Document:
    return {
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [_subject(*subject) for subject in subjects],
    }


def _subject(kind: str, name: str) -> Document:
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, "namespace": SYSTEM}
    return {"apiGroup": RBAC, "kind": kind, "name": name}


def _of_config_map(name: str) -> Document:
    return {"rules": [_rule("get", "configmaps", names=[name])]}


_NODES_GROUP: Final = ("Group", "system:nodes")
_BOOTSTRAP_GROUP: Final = ("Group", _BOOTSTRAPPERS)
_ROLES: Final[tuple[tuple[Resource, str, str, Document], ...]] = (
    (CLUSTER_ROLES, "", "kubeadm:get-nodes", {"rules": [_rule("get", "nodes")]}),
    (
        CLUSTER_ROLE_BINDINGS,
        "",
        "kubeadm:get-nodes",
        _binding("kubeadm:get-nodes", _BOOTSTRAP_GROUP),
    ),
    (
        CLUSTER_ROLE_BINDINGS,
        "",
        "kubeadm:cluster-admins",
        _binding("cluster-admin", ("Group", "kubeadm:cluster-admins")),
    ),
    (
        CLUSTER_ROLE_BINDINGS,
        "",
        "kubeadm:kubelet-bootstrap",
        _binding("system:node-bootstrapper", _BOOTSTRAP_GROUP),
    ),
    (
        CLUSTER_ROLE_BINDINGS,
        "",
        "kubeadm:node-proxier",
        _binding("system:node-proxier", ("ServiceAccount", "kube-proxy")),
    ),
    (ROLES, SYSTEM, "kubeadm:nodes-kubeadm-config", _of_config_map("kubeadm-config")),
    (
        ROLE_BINDINGS,
        SYSTEM,
        "kubeadm:nodes-kubeadm-config",
        _binding("kubeadm:nodes-kubeadm-config", _BOOTSTRAP_GROUP, _NODES_GROUP, kind="Role"),
    ),
    (ROLES, SYSTEM, "kubeadm:kubelet-config", _of_config_map("kubelet-config")),
    (
        ROLE_BINDINGS,
        SYSTEM,
        "kubeadm:kubelet-config",
        _binding("kubeadm:kubelet-config", _NODES_GROUP, _BOOTSTRAP_GROUP, kind="Role"),
    ),
    (ROLES, PUBLIC, "kubeadm:bootstrap-signer-clusterinfo", _of_config_map("cluster-info")),
    (
        ROLE_BINDINGS,
        PUBLIC,
        "kubeadm:bootstrap-signer-clusterinfo",
        _binding("kubeadm:bootstrap-signer-clusterinfo", ("User", "system:anonymous"), kind="Role"),
    ),
)
