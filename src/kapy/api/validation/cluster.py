"""Validation of a Cluster without its ClusterClass, which is another object."""

from __future__ import annotations

from ipaddress import ip_network

from kapy.api.cluster import Cluster, NetworkRanges
from kapy.api.features import FeatureGates
from kapy.api.validation.cluster_topology import topology_errors
from kapy.api.validation.metadata import name_as_label_errors
from kapy.kube.digits import has_only_digits
from kapy.kube.field_errors import FieldError, forbidden, invalid


def cluster_errors(cluster: Cluster, old: Cluster | None, gates: FeatureGates) -> list[FieldError]:
    """Return the validation errors of a Cluster."""
    spec = cluster.spec
    errors = name_as_label_errors(cluster.metadata.name, " ")
    before = old.spec if old is not None else None
    if before is not None and before.infrastructure_ref and not spec.infrastructure_ref:
        errors.append(forbidden("spec.infrastructureRef", "cannot be removed"))
    if not (spec.control_plane_ref or spec.infrastructure_ref or spec.topology):
        problem = "one of spec.controlPlaneRef, spec.infrastructureRef or spec.topology must be set"
        errors.append(forbidden("spec", problem))
    if before is not None and before.control_plane_ref and not spec.control_plane_ref:
        errors.append(forbidden("spec.controlPlaneRef", "cannot be removed"))
    errors += _range_errors(spec.cluster_network.pods, "spec.clusterNetwork.pods")
    errors += _range_errors(spec.cluster_network.services, "spec.clusterNetwork.services")
    if spec.topology is not None:
        errors += topology_errors(cluster, spec.topology, gates)
    elif before is not None and before.topology is not None:
        errors.append(forbidden("spec.topology", "cannot be removed from an existing Cluster"))
    return errors


def _range_errors(ranges: NetworkRanges | None, path: str) -> list[FieldError]:
    return [
        invalid(f"{path}.cidrBlocks[{number}]", block, f"invalid CIDR address: {block}")
        for number, block in enumerate(ranges.cidr_blocks if ranges is not None else ())
        if not _is_cidr(block)
    ]


def _is_cidr(block: str) -> bool:
    if "/" not in block or not has_only_digits(block.rpartition("/")[2]):
        return False
    try:
        ip_network(block, strict=False)
    except ValueError:
        return False
    return True
