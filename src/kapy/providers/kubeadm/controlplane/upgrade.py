"""Prepares the workload cluster before Machines of a new configuration join it."""

from __future__ import annotations

from typing import Any, Final

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.kube import Document
from kapy.kube.errors import AlreadyExists, KapyError
from kapy.kube.model import encode
from kapy.kube.names import CONFIG_MAPS, Resource
from kapy.kube.version import parse_tolerant
from kapy.providers.kubeadm.configuration import (
    ClusterFacts,
    cluster_configuration_file,
    read_cluster_configuration,
)
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.desired import feature_gates, is_etcd_managed
from kapy.providers.kubeadm.controlplane.health import KUBEADM_CONFIG
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import Client

CLUSTER_CONFIGURATION: Final = "ClusterConfiguration"
CLUSTER_ROLE_BINDINGS: Final = Resource(
    "rbac.authorization.k8s.io",
    "v1",
    "clusterrolebindings",
    "ClusterRoleBinding",
    namespaced=False,
)
_RBAC_UNTIL: Final = (1, 38)
_ADMINS: Final = "kubeadm:cluster-admins"


class NoKubeadmConfig(KapyError):
    """The workload cluster's kubeadm-config lacks kubeadm's data."""


async def prepare_workload(dependencies: Dependencies, plane: ControlPlane) -> None:
    """Update kubeadm's configuration and permissions, once for each generation."""
    kcp = plane.kcp
    mark = (kcp.metadata.uid, kcp.metadata.generation)
    if dependencies.cache.upgraded.get(kcp.key) == mark:
        return
    client = dependencies.remote.client(plane.cluster.key)
    await _ensure_permissions(client, kcp.spec.version)
    await update_kubeadm_config(client, kcp.spec.version, wanted_configuration(kcp))
    dependencies.cache.upgraded[kcp.key] = mark


def wanted_configuration(kcp: KubeadmControlPlane) -> Document:
    """Return the fields of kubeadm's ClusterConfiguration that the control plane sets; None removes
    one.

    A control plane without a clusterConfiguration sets none.
    """
    configuration = kcp.spec.kubeadm_config_spec.cluster_configuration
    cluster_configuration = encode(configuration)
    if not cluster_configuration:
        return {}
    gates = feature_gates(configuration.feature_gates, kcp.spec.version)
    wanted: dict[str, Any] = {
        field: cluster_configuration.get(field)
        for field in (
            "apiServer",
            "controllerManager",
            "scheduler",
            "certificateValidityPeriodDays",
            "encryptionAlgorithm",
        )
    }
    side = "local" if is_etcd_managed(kcp) else "external"
    etcd = (cluster_configuration.get("etcd") or {}).get(side)
    wanted["etcd"] = {side: etcd} if etcd else None
    wanted["featureGates"] = gates or None
    if configuration.image_repository:
        wanted["imageRepository"] = configuration.image_repository
    return wanted


async def update_kubeadm_config(client: Client, version: str, wanted: Document) -> None:
    """Write the wanted fields and the version into the ConfigMap kubeadm-config. Raises
    NoKubeadmConfig, UnknownConfiguration, and Conflict if another client changed it.
    """
    config_map = await client.get(CONFIG_MAPS, KUBEADM_CONFIG)
    text = (config_map.get("data") or {}).get(CLUSTER_CONFIGURATION)
    if text is None:
        raise NoKubeadmConfig(
            f'unable to find "{CLUSTER_CONFIGURATION}" in the kubeadm-config ConfigMap'
        )
    current, facts = read_cluster_configuration(text)
    updated = {field: value for field, value in {**current, **wanted}.items() if value is not None}
    target = f"v{parse_tolerant(version)}"
    if updated == current and facts.kubernetes_version == target:
        return
    file = cluster_configuration_file(updated, target, _with_version(facts, target))
    patch = {
        "metadata": {"resourceVersion": config_map["metadata"]["resourceVersion"]},
        "data": {CLUSTER_CONFIGURATION: file},
    }
    await client.patch(CONFIG_MAPS, KUBEADM_CONFIG, patch)


def _with_version(facts: ClusterFacts, version: str) -> ClusterFacts:
    return ClusterFacts(
        kubernetes_version=version,
        cluster_name=facts.cluster_name,
        dns_domain=facts.dns_domain,
        service_subnet=facts.service_subnet,
        pod_subnet=facts.pod_subnet,
        health_check_seconds=facts.health_check_seconds,
    )


async def _ensure_permissions(client: Client, version: str) -> None:
    """Bindings that newer versions of kubeadm rely on (v1.29: admins; v1.37: kubelets)."""
    parsed = parse_tolerant(version)
    if (parsed.major, parsed.minor) >= _RBAC_UNTIL:
        return
    for binding in (
        _binding(_ADMINS, "cluster-admin", "Group", _ADMINS),
        _binding(
            "kubeadm:apiserver-kubelet-client",
            "system:kubelet-api-admin",
            "User",
            "kube-apiserver-kubelet-client",
        ),
    ):
        try:
            await client.create(CLUSTER_ROLE_BINDINGS, binding)
        except AlreadyExists:
            continue


def _binding(name: str, role: str, kind: str, subject: str) -> Document:
    group = CLUSTER_ROLE_BINDINGS.group
    return {
        "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
        "kind": CLUSTER_ROLE_BINDINGS.kind,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": kind, "name": subject}],
    }
