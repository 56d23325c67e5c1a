"""The settings and roles that `kubeadm init` stores in a cluster, besides the control plane and the
add-ons. The roles let machines join.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache, partial
from typing import Final, NamedTuple

from kapy.api.cluster import Cluster
from kapy.api.times import stamp
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from kapy.kube.yaml import YamlError, dump, load
from kapy.providers.inmemory.workload.addons import (
    coredns_version,
    ensure_coredns,
    ensure_kube_proxy,
    ensure_services,
    minor,
)
from kapy.providers.inmemory.workload.images import REPOSITORY, images_of
from kapy.providers.inmemory.workload.objects import (
    DEFAULT,
    NODE_LEASES,
    PUBLIC,
    SYSTEM,
    Objects,
)

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


CONFIGURATION_FILE: Final = b"/run/kubeadm/kubeadm.yaml"
_END_OF_ENTRY: Final = re.compile(rb"^[^ \n]", re.MULTILINE)
_CLUSTER_INFO: Final = """apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {authority}
    server: {server}
  name: ""
contexts: null
current-context: ""
kind: Config
preferences: {{}}
users: null
"""


class Settings(NamedTuple):
    """The properties of a cluster that these objects contain. version: the Kubernetes version, with
    its `v`.
    """

    name: str
    version: str
    server: str
    certificate_authority: bytes
    pods: str = ""
    services: str = "10.96.0.0/12"
    domain: str = "cluster.local"

    @classmethod
    def of(cls, cluster: Cluster, version: str, server: str, authority: bytes) -> Settings:
        """Return the settings that kubeadm gets from a Cluster."""
        settings = cls(cluster.metadata.name, version, server, authority)
        network = cluster.spec.cluster_network
        return settings._replace(
            pods=",".join(network.pods.cidr_blocks) if network.pods else "",
            services=",".join(network.services.cidr_blocks)
            if network.services
            else settings.services,
            domain=network.service_domain or settings.domain,
        )


def ensure_namespaces(objects: Objects) -> None:
    """The namespaces that every cluster has."""
    for name in (DEFAULT, NODE_LEASES, PUBLIC, SYSTEM):
        objects.ensure(NAMESPACES, "", name, partial(_namespace, name))


def _namespace(name: str) -> Document:
    return {
        "metadata": {"labels": {"kubernetes.io/metadata.name": name}},
        "spec": _NAMESPACE_SPEC,
        "status": _NAMESPACE_STATUS,
    }


_NAMESPACE_SPEC: Final = {"finalizers": ["kubernetes"]}
_NAMESPACE_STATUS: Final = {"phase": "Active"}


def ensure_kubeadm_objects(objects: Objects, settings: Settings, bootstrap_data: bytes) -> None:
    """Create the objects that `kubeadm init` creates for the whole cluster, unless they exist.

    bootstrap_data: the boot data of a control plane machine. The first machine's data contain the
    cluster's configuration. If that machine was replaced before a restart, the configuration is
    derived from `settings`.
    """
    if objects.get(CONFIG_MAPS, SYSTEM, "kubeadm-config") is not None:
        return
    configuration = cluster_configuration(bootstrap_data) or _assumed_configuration(settings)
    _config_map(objects, SYSTEM, "kubeadm-config", {"ClusterConfiguration": configuration})
    _config_map(objects, SYSTEM, "kubelet-config", _kubelet(settings.domain))
    _config_map(objects, PUBLIC, "cluster-info", {"kubeconfig": _cluster_info(settings)})
    ensure_roles(objects)
    ensure_services(objects, settings.services)
    images, version = images_of(configuration), settings.version
    proxy = images.of("kube-proxy", version)
    ensure_kube_proxy(objects, proxy, settings.server, settings.pods)
    ensure_coredns(objects, images.coredns(coredns_version(minor(version))), settings.domain)


def _config_map(objects: Objects, namespace: str, name: str, data: dict[str, str]) -> None:
    objects.ensure(CONFIG_MAPS, namespace, name, lambda: {"data": data})


def cluster_configuration(bootstrap_data: bytes) -> str | None:
    """Return the ClusterConfiguration in cloud-init data, None if there is none.

    Only this file is parsed: the data is long, and most of it is keys.
    """
    start = bootstrap_data.find(b"path: " + CONFIGURATION_FILE)
    if start < 0:
        return None
    start = bootstrap_data.rfind(b"\n", 0, start) + 1
    end = _END_OF_ENTRY.search(bootstrap_data, start + 1)
    entry = bootstrap_data[start : end.start() if end else len(bootstrap_data)]
    try:
        ((file,),) = (load(entry),)
        return _of_kind(str(file["content"]), "ClusterConfiguration")
    except (YamlError, TypeError, ValueError, KeyError):
        return None  # data of another format is not parsed


def _of_kind(text: str, kind: str) -> str | None:
    for part in text.split("\n---\n"):
        part = part.removeprefix("---\n")
        if f"\nkind: {kind}\n" in f"\n{part}\n":
            return part.rstrip("\n") + "\n"
    return None


def _assumed_configuration(settings: Settings) -> str:
    networking = {"dnsDomain": settings.domain, "serviceSubnet": settings.services}
    if settings.pods:
        networking["podSubnet"] = settings.pods
    new = minor(settings.version) >= 31
    return dump(
        {
            "apiVersion": f"kubeadm.k8s.io/{'v1beta4' if new else 'v1beta3'}",
            "kind": "ClusterConfiguration",
            "clusterName": settings.name,
            "controlPlaneEndpoint": settings.server.removeprefix("https://"),
            "imageRepository": REPOSITORY,
            "kubernetesVersion": settings.version,
            "networking": networking,
        }
    )


@lru_cache(maxsize=64)
def _kubelet(domain: str) -> dict[str, str]:
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "systemd",
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": domain,
        "rotateCertificates": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }
    return {"kubelet": dump(configuration)}


def _cluster_info(settings: Settings) -> str:
    authority = b64encode(settings.certificate_authority).decode()
    return _CLUSTER_INFO.format(authority=authority, server=settings.server)


def ensure_token(objects: Objects, token_id: str, token_secret: str, end: datetime) -> None:
    """Create the Secret of a bootstrap token that is valid until `end`."""
    data = {
        "token-id": token_id,
        "token-secret": token_secret,
        "expiration": stamp(end),
        "usage-bootstrap-signing": "true",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    }
    encoded = {name: b64encode(value.encode()).decode() for name, value in data.items()}
    secret: Document = {"type": "bootstrap.kubernetes.io/token", "data": encoded}
    objects.ensure(SECRETS, SYSTEM, f"bootstrap-token-{token_id}", lambda: secret)
