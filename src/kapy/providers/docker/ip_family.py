"""The networks of a cluster's Pods and Services, and their IP family. Pure."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Literal

from kapy.api.cluster import Cluster, NetworkRanges
from kapy.kube.errors import KapyError

IPFamily = Literal["IPv4", "IPv6", "DualStack"]


class BadNetwork(KapyError):
    """The networks of a Cluster do not fit together; the message names the field."""


def ip_family(cluster: Cluster) -> IPFamily:
    """Return the family of a Cluster's addresses. Raises BadNetwork."""
    network = cluster.spec.cluster_network
    pods = _family("pods", network.pods)
    services = _family("services", network.services)
    if pods is None or services is None:
        return pods or services or "IPv4"
    if pods != services and pods != "DualStack":
        raise BadNetwork(
            f"spec.clusterNetwork of the Cluster mixes IP families: pods have {pods}, services "
            f"have {services}; give both the same"
        )
    return pods


def cluster_subnets(cluster: Cluster) -> list[str]:
    """Return the networks of a Cluster's Pods and Services, in CIDR notation."""
    network = cluster.spec.cluster_network
    return [
        block
        for ranges in (network.pods, network.services)
        if ranges is not None
        for block in ranges.cidr_blocks
    ]


def _family(name: str, ranges: NetworkRanges | None) -> IPFamily | None:
    blocks = [] if ranges is None else ranges.cidr_blocks
    field = f"spec.clusterNetwork.{name}.cidrBlocks"
    if len(blocks) > 2:
        raise BadNetwork(f"{field} of the Cluster has {len(blocks)} entries; it may have two")
    try:
        versions = {ip_network(block, strict=False).version for block in blocks}
    except ValueError as error:
        raise BadNetwork(f"{field} of the Cluster: {error}") from None
    if not versions:
        return None
    return "DualStack" if len(versions) == 2 else "IPv6" if 6 in versions else "IPv4"
