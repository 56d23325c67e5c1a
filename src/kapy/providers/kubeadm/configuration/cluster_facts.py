"""The facts in kubeadm's ClusterConfiguration that Cluster API stores in other objects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Values from the Cluster and the Machine; None if not set.

    health_check_seconds belongs to `initConfiguration.timeouts` in Cluster API and in kubeadm
    v1beta4, but to the ClusterConfiguration in v1beta3.
    """

    kubernetes_version: str | None = None
    cluster_name: str | None = None
    dns_domain: str | None = None
    service_subnet: str | None = None
    pod_subnet: str | None = None
    health_check_seconds: int | None = None


NOTHING = ClusterFacts()
