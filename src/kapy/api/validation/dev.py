"""DevCluster, DevMachine and their templates."""

from __future__ import annotations

from kapy.api.dev_cluster import DevCluster, DevClusterSpec, DevClusterTemplate
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.features import FeatureGates
from kapy.api.validation.metadata import template_metadata_errors
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.model import encode

_METADATA = "spec.template.metadata"


def dev_cluster_errors(
    cluster: DevCluster, _: DevCluster | None, __: FeatureGates
) -> list[FieldError]:
    """What is wrong with a DevCluster."""
    return _cluster_spec_errors(cluster.spec)


def dev_cluster_template_errors(
    template: DevClusterTemplate, old: DevClusterTemplate | None, gates: FeatureGates
) -> list[FieldError]:
    """What is wrong with a DevClusterTemplate (its immutability is checked elsewhere)."""
    if old is not None:
        return []
    if not gates.cluster_topology:
        problem = "can be set only if the ClusterTopology feature flag is enabled"
        return [forbidden("spec", problem)]
    inner = template.spec.template
    return _cluster_spec_errors(inner.spec) + template_metadata_errors(inner.metadata, _METADATA)


def dev_machine_errors(
    machine: DevMachine, old: DevMachine | None, _: FeatureGates
) -> list[FieldError]:
    """What is wrong with the change of a DevMachine."""
    docker = machine.spec.backend.docker
    before = old.spec.backend.docker if old is not None else None
    if docker is None or before is None or docker.custom_image == before.custom_image:
        return []
    return [forbidden("spec.backend.docker.customImage", "cannot be modified")]


def dev_machine_template_errors(
    template: DevMachineTemplate, _: DevMachineTemplate | None, __: FeatureGates
) -> list[FieldError]:
    """What is wrong with a DevMachineTemplate (its immutability is checked elsewhere)."""
    return template_metadata_errors(template.spec.template.metadata, _METADATA)


def _cluster_spec_errors(spec: DevClusterSpec) -> list[FieldError]:
    docker = spec.backend.docker
    domains = docker.failure_domains if docker is not None else []
    if domains == sorted(domains, key=lambda one: one.name):
        return []
    where = "spec.backend.docker.failureDomains"
    return [
        invalid(where, [encode(one) for one in domains], "failure domains must be sorted by name")
    ]
