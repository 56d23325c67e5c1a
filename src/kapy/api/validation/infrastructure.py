"""Validation of DevClusters, DevMachines, DockerClusters, DockerMachines and their templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.dev_cluster import DevCluster, DevClusterSpec, DevClusterTemplate
from kapy.api.dev_machine import DevMachine, DevMachineSpec, DevMachineTemplate
from kapy.api.docker_cluster import DockerCluster, DockerClusterTemplate
from kapy.api.docker_machine import DockerMachine, DockerMachineTemplate
from kapy.api.embedded import FailureDomain, TemplateMeta
from kapy.api.features import FeatureGates
from kapy.api.validation.metadata import template_metadata_errors
from kapy.kube.duration import canonical
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.model import encode

_SPEC: Final = "spec.template.spec"
_DEV_DOMAINS: Final = "spec.backend.docker.failureDomains"
_DOCKER_DOMAINS: Final = "spec.failureDomains"


def dev_cluster_errors(
    cluster: DevCluster, _: DevCluster | None, __: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a DevCluster."""
    return _domain_errors(_dev_domains(cluster.spec), _DEV_DOMAINS)


def dev_cluster_template_errors(
    template: DevClusterTemplate, old: DevClusterTemplate | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the errors of a DevClusterTemplate (its immutability is checked elsewhere)."""
    if old is not None:
        return []
    inner = template.spec.template
    errors = _domain_errors(_dev_domains(inner.spec), _DEV_DOMAINS)
    return _new_cluster_template_errors(errors, inner.metadata, gates)


def docker_cluster_errors(
    cluster: DockerCluster, _: DockerCluster | None, __: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a DockerCluster."""
    return _domain_errors(cluster.spec.failure_domains, _DOCKER_DOMAINS)


def docker_cluster_template_errors(
    template: DockerClusterTemplate, old: DockerClusterTemplate | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the errors of a DockerClusterTemplate (its immutability is checked elsewhere)."""
    if old is not None:
        return []
    inner = template.spec.template
    errors = _domain_errors(inner.spec.failure_domains, _DOCKER_DOMAINS)
    return _new_cluster_template_errors(errors, inner.metadata, gates)


def dev_machine_errors(
    machine: DevMachine, old: DevMachine | None, _: FeatureGates
) -> list[FieldError]:
    """Return the errors of a DevMachine and of its change."""
    errors = _dev_duration_errors(machine.spec, "spec")
    docker = machine.spec.backend.docker
    before = old.spec.backend.docker if old is not None else None
    if docker is None or before is None or docker.custom_image == before.custom_image:
        return errors
    return [*errors, forbidden("spec.backend.docker.customImage", "cannot be modified")]


def dev_machine_template_errors(
    template: DevMachineTemplate, _: DevMachineTemplate | None, __: FeatureGates
) -> list[FieldError]:
    """Return the errors of a DevMachineTemplate (its immutability is checked elsewhere)."""
    inner = template.spec.template
    return _dev_duration_errors(inner.spec, _SPEC) + _metadata_errors(inner.metadata)


def docker_machine_errors(
    machine: DockerMachine, old: DockerMachine | None, _: FeatureGates
) -> list[FieldError]:
    """Return the errors of a DockerMachine and of its change."""
    errors = _duration_errors(machine.spec.bootstrap_timeout, "spec.bootstrapTimeout")
    if old is None or machine.spec.custom_image == old.spec.custom_image:
        return errors
    return [*errors, forbidden("spec.customImage", "cannot be modified")]


def docker_machine_template_errors(
    template: DockerMachineTemplate, _: DockerMachineTemplate | None, __: FeatureGates
) -> list[FieldError]:
    """Return the errors of a DockerMachineTemplate (its immutability is checked elsewhere)."""
    inner = template.spec.template
    errors = _duration_errors(inner.spec.bootstrap_timeout, f"{_SPEC}.bootstrapTimeout")
    return errors + _metadata_errors(inner.metadata)


def _dev_duration_errors(spec: DevMachineSpec, path: str) -> list[FieldError]:
    docker, memory = spec.backend.docker, spec.backend.in_memory
    errors = []
    if docker is not None:
        where = f"{path}.backend.docker.bootstrapTimeout"
        errors += _duration_errors(docker.bootstrap_timeout, where)
    if memory is None:
        return errors
    parts = {"vm": memory.vm, "node": memory.node, "apiServer": memory.api_server}
    for name, part in {**parts, "etcd": memory.etcd}.items():
        if part is not None:
            where = f"{path}.backend.inMemory.{name}.provisioning.startupDuration"
            errors += _duration_errors(part.provisioning.startup_duration, where)
    return errors


def _duration_errors(duration: str | None, path: str) -> list[FieldError]:
    """Return an error if a duration is invalid: upstream's programs could not decode the object."""
    try:
        if duration is not None:
            canonical(duration)
    except ValueError as error:
        return [invalid(path, duration, f"{error}; durations are written as in 1h30m or 10s")]
    return []


def _dev_domains(spec: DevClusterSpec) -> Sequence[FailureDomain]:
    docker = spec.backend.docker
    return docker.failure_domains if docker is not None else ()


def _domain_errors(domains: Sequence[FailureDomain], path: str) -> list[FieldError]:
    names = [domain.name for domain in domains]
    if names == sorted(names):
        return []
    value = [encode(domain) for domain in domains]
    return [invalid(path, value, "failure domains must be sorted by name")]


def _new_cluster_template_errors(
    errors: list[FieldError], metadata: TemplateMeta, gates: FeatureGates
) -> list[FieldError]:
    """Return the errors of a new cluster template: those of its own fields, and those of its
    metadata.

    errors: the errors of its own fields.
    """
    if not gates.cluster_topology:
        problem = "can be set only if the ClusterTopology feature flag is enabled"
        return [forbidden("spec", problem)]
    return errors + _metadata_errors(metadata)


def _metadata_errors(metadata: TemplateMeta) -> list[FieldError]:
    return template_metadata_errors(metadata, "spec.template.metadata")
