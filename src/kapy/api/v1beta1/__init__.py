"""Differences of the kinds in v1beta1, for conversion and for the CRDs of that version."""

from collections.abc import Mapping
from typing import Final

HOMES: Final[Mapping[str, str]] = {
    "cluster": "cluster",
    "cluster_class": "cluster_class",
    "cluster_class_patches": "cluster_class_variables",
    "cluster_class_template": "cluster_class",
    "cluster_class_variables": "cluster_class_variables",
    "cluster_class_workers": "cluster_class",
    "cluster_resource_set": "addons",
    "cluster_resource_set_binding": "addons",
    "cluster_topology": "cluster",
    "cluster_topology_workers": "cluster",
    "dev_cluster": "infrastructure",
    "dev_machine": "infrastructure",
    "docker_cluster": "infrastructure",
    "docker_machine": "infrastructure",
    "docker_machine_pool": "infrastructure",
    "embedded": "embedded",
    "infrastructure": "infrastructure",
    "ip_address": "addons",
    "kubeadm": "kubeadm",
    "kubeadm_components": "kubeadm",
    "kubeadm_config": "kubeadm_config",
    "kubeadm_control_plane": "kubeadm_control_plane",
    "kubeadm_control_plane_machines": "kubeadm_control_plane",
    "kubeadm_discovery": "kubeadm",
    "kubeadm_disks": "kubeadm_config",
    "kubeadm_files": "kubeadm_config",
    "kubeadm_node": "kubeadm",
    "machine": "machines",
    "machine_deployment": "machines",
    "machine_drain_rule": "machines",
    "machine_health_check": "machines",
    "machine_pool": "machines",
    "machine_set": "machines",
    "machine_status": "machines",
    "unhealthy_conditions": "machines",
}
"""The module here that declares the differences of the Structs in a module of `kapy.api`."""
