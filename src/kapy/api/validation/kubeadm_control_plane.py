"""Validation of KubeadmControlPlanes, their changes, and their templates.

Some fields of a KubeadmControlPlane may change after its creation. The rest would have to change in
a running control plane, or in all of its machines at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kapy.api.features import FeatureGates
from kapy.api.kubeadm import ClusterConfiguration, LocalEtcd
from kapy.api.kubeadm_control_plane import (
    KubeadmControlPlane,
    KubeadmControlPlaneSpec,
    KubeadmControlPlaneTemplate,
)
from kapy.api.kubeadm_control_plane_machines import KubeadmControlPlaneRolloutSpec
from kapy.api.names import Annotation
from kapy.api.validation.kubeadm_config import config_spec_errors, timeout_errors
from kapy.api.validation.machine_fields import taint_errors, version_errors
from kapy.api.validation.metadata import naming_errors, template_metadata_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.int_or_percent import int_value
from kapy.kube.meta import to_document
from kapy.kube.patch.merge_patch import difference
from kapy.kube.version import InvalidVersion, Version, compare, parse_image_tag, parse_tolerant

_CONFIG: Final = "spec.kubeadmConfigSpec"

# A listed field may be changed, added and removed, including all fields in it.
_ALLOWED: Final = frozenset(
    (
        "metadata",
        *(
            f"{_CONFIG}.clusterConfiguration.{name}"
            for name in (
                "etcd",
                "dns",
                "imageRepository",
                "featureGates",
                "apiServer",
                "controllerManager",
                "scheduler",
                "certificateValidityPeriodDays",
                "encryptionAlgorithm",
            )
        ),
        *(
            f"{_CONFIG}.initConfiguration.{name}"
            for name in (
                "nodeRegistration",
                "patches",
                "skipPhases",
                "bootstrapTokens",
                "localAPIEndpoint",
                "timeouts",
            )
        ),
        *(
            f"{_CONFIG}.joinConfiguration.{name}"
            for name in (
                "nodeRegistration",
                "patches",
                "skipPhases",
                "caCertPath",
                "controlPlane",
                "discovery",
                "timeouts",
            )
        ),
        *(
            f"{_CONFIG}.{name}"
            for name in (
                "bootCommands",
                "preKubeadmCommands",
                "postKubeadmCommands",
                "files",
                "verbosity",
                "users",
                "ntp",
                "ignition",
                "diskSetup",
                "format",
                "mounts",
            )
        ),
        "spec.machineTemplate.metadata",
        "spec.machineTemplate.spec",
        "spec.replicas",
        "spec.version",
        "spec.remediation",
        "spec.machineNaming",
        "spec.rollout",
    )
)

_COREDNS_VERSIONS: Final = """
1.1.3 1.1.4 1.2.0 1.2.1 1.2.2 1.2.3 1.2.4 1.2.5 1.2.6 1.3.0 1.3.1 1.4.0 1.5.0 1.5.1 1.5.2 1.6.0
1.6.1 1.6.2 1.6.3 1.6.4 1.6.5 1.6.6 1.6.7 1.6.9 1.7.0 1.7.1 1.8.0 1.8.3 1.8.4 1.8.5 1.8.6 1.8.7
1.9.0 1.9.1 1.9.2 1.9.3 1.9.4 1.10.0 1.10.1 1.11.0 1.11.1 1.11.3 1.11.4 1.12.0 1.12.1 1.12.2
1.12.3 1.12.4 1.13.0 1.13.1 1.13.2 1.14.0 1.14.1 1.14.2 1.14.3 1.14.4 1.14.6
"""
"""Every release of CoreDNS whose configuration is known, oldest first."""

_CA_CERTIFICATE_DAYS: Final = 3650
"""The default validity of certificate authorities in days."""
_NOT_IN_TAGS: Final = re.compile(r"[^-a-zA-Z0-9_.]")
_DNS_TAG: Final = f"{_CONFIG}.clusterConfiguration.dns.imageTag"


def control_plane_errors(
    kcp: KubeadmControlPlane, old: KubeadmControlPlane | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the errors of a KubeadmControlPlane and of its change."""
    spec = kcp.spec
    cluster = spec.kubeadm_config_spec.cluster_configuration
    errors = list(_spec_errors(spec, gates))
    if old is not None:
        errors += _forbidden_changes(old, kcp)
        errors += _version_change_errors(old.spec.version, spec.version)
    before = old.spec.kubeadm_config_spec.cluster_configuration if old is not None else None
    errors += _cluster_errors(cluster, before, f"{_CONFIG}.clusterConfiguration")
    if old is not None:
        errors += _coredns_errors(old, kcp)
    errors += config_spec_errors(spec.kubeadm_config_spec, _CONFIG, gates)
    return errors + timeout_errors(spec.kubeadm_config_spec, _CONFIG)


def scale_problem(kcp: KubeadmControlPlane) -> str:
    """Return why a control plane cannot be scaled to its current `spec.replicas`, "" if it can."""
    replicas = kcp.spec.replicas or 0
    if replicas <= 0:
        return "replicas should be greater than zero"
    stacked = kcp.spec.kubeadm_config_spec.cluster_configuration.etcd.external is None
    if stacked and replicas % 2 == 0:
        return "replicas cannot be an even number when etcd is stacked"
    return ""


def control_plane_template_errors(
    template: KubeadmControlPlaneTemplate,
    old: KubeadmControlPlaneTemplate | None,
    gates: FeatureGates,
) -> list[FieldError]:
    """Return the errors of a KubeadmControlPlaneTemplate (its immutability is checked
    elsewhere).
    """
    if old is not None:
        return []
    if not gates.cluster_topology:
        problem = "can be set only if the ClusterTopology feature flag is enabled"
        return [forbidden("spec", problem)]
    inner = template.spec.template
    spec, path = inner.spec, "spec.template.spec"
    config = spec.kubeadm_config_spec
    cluster = config.cluster_configuration
    machines = spec.machine_template
    return [
        *_rollout_errors(spec.rollout, cluster, None, path),
        *naming_errors(
            spec.machine_naming.template, f"{path}.machineNaming", "kubeadmControlPlane"
        ),
        *taint_errors(machines.spec.taints, f"{path}.machineTemplate.spec.taints", gates),
        *template_metadata_errors(machines.metadata, f"{path}.machineTemplate.metadata"),
        *_cluster_errors(cluster, None, f"{path}.kubeadmConfigSpec.clusterConfiguration"),
        *config_spec_errors(config, f"{path}.kubeadmConfigSpec", gates),
        *timeout_errors(config, f"{path}.kubeadmConfigSpec"),
        *template_metadata_errors(inner.metadata, "spec.template.metadata"),
    ]


def _spec_errors(spec: KubeadmControlPlaneSpec, gates: FeatureGates) -> Iterator[FieldError]:
    cluster = spec.kubeadm_config_spec.cluster_configuration
    yield from _replica_errors(spec.replicas, stacked=cluster.etcd.external is None)
    machines = spec.machine_template
    ref = machines.spec.infrastructure_ref
    for name, value in (("apiGroup", ref.api_group), ("kind", ref.kind), ("name", ref.name)):
        if not value:
            where = f"spec.machineTemplate.infrastructure.{name}"
            yield invalid(where, value, "cannot be empty")
    yield from taint_errors(machines.spec.taints, "spec.machineTemplate.spec.taints", gates)
    yield from template_metadata_errors(machines.metadata, "spec.machineTemplate.metadata")
    yield from version_errors(spec.version, "spec.version")
    yield from _rollout_errors(spec.rollout, cluster, spec.replicas, "spec")
    yield from naming_errors(
        spec.machine_naming.template, "spec.machineNaming", "kubeadmControlPlane"
    )


def _replica_errors(replicas: int | None, *, stacked: bool) -> Iterator[FieldError]:
    if replicas is None:
        yield required("spec.replicas", "is required")
        return
    if replicas <= 0:
        yield forbidden("spec.replicas", "cannot be less than or equal to 0")
    if stacked and replicas % 2 == 0:
        yield forbidden("spec.replicas", "cannot be an even number when etcd is stacked")


def _forbidden_changes(old: KubeadmControlPlane, new: KubeadmControlPlane) -> list[FieldError]:
    """Return an error for each changed field that is immutable."""
    changed = _disallowed_paths("", difference(to_document(old), to_document(new)))
    return [forbidden(path, "cannot be modified") for path in sorted(changed)]


def _disallowed_paths(path: str, patch: Document) -> Iterator[str]:
    for name, value in patch.items():
        here = f"{path}.{name}" if path else name
        if here in _ALLOWED:
            continue
        if isinstance(value, dict):
            yield from _disallowed_paths(here, value)
        else:
            yield here


def _rollout_errors(
    rollout: KubeadmControlPlaneRolloutSpec,
    cluster: ClusterConfiguration,
    replicas: int | None,
    path: str,
) -> Iterator[FieldError]:
    strategy = rollout.strategy
    if strategy is None:
        return
    where = f"{path}.rollout.strategy"
    if strategy.type != "RollingUpdate":
        yield required(f"{where}.type", "only RollingUpdate is supported")
    max_surge = strategy.rolling_update.max_surge
    surge = None if max_surge is None else int_value(max_surge)
    if surge == 0 and replicas is not None and replicas < 3:
        problem = (
            "when KubeadmControlPlane is configured to scale-in, replica count needs to be at "
            "least 3"
        )
        yield required(f"{where}.rollingUpdate", problem)
    if surge not in (None, 0, 1):
        yield required(f"{where}.rollingUpdate.maxSurge", "value must be 1 or 0")
    yield from _validity_errors(rollout, cluster, path)


def _validity_errors(
    rollout: KubeadmControlPlaneRolloutSpec, cluster: ClusterConfiguration, path: str
) -> Iterator[FieldError]:
    days = cluster.certificate_validity_period_days
    if not days:
        return
    of_ca = cluster.ca_certificate_validity_period_days
    if days > (of_ca or _CA_CERTIFICATE_DAYS):
        limit = (
            f"caCertificateValidityPeriodDays ({of_ca})"
            if of_ca
            else f"the default value of caCertificateValidityPeriodDays ({_CA_CERTIFICATE_DAYS})"
        )
        where = f"{path}.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays"
        yield invalid(where, days, f"must be less than or equal to {limit}")
    before = rollout.before.certificates_expiry_days
    if before and before >= days:
        where = f"{path}.rollout.before.certificatesExpiryDays"
        problem = f"must be less than certificateValidityPeriodDays ({days})"
        yield invalid(where, before, problem)


def _cluster_errors(
    new: ClusterConfiguration, old: ClusterConfiguration | None, path: str
) -> Iterator[FieldError]:
    tag = new.dns.image_tag
    if _NOT_IN_TAGS.search(tag):
        yield forbidden(f"{path}.dns.imageTag", f"tag {tag} is invalid")
    if tag:
        try:
            parse_image_tag(tag)
        except InvalidVersion as error:
            yield invalid("dns.imageTag", tag, f"failed to parse CoreDNS version: {error}")
    local, external = new.etcd.local, new.etcd.external
    if local != LocalEtcd():
        if _NOT_IN_TAGS.search(local.image_tag):
            yield forbidden(f"{path}.etcd.local.imageTag", f"tag {local.image_tag} is invalid")
        if external is not None:
            yield forbidden(f"{path}.etcd.local", "cannot have both external and local etcd")
    if old is not None and (external is None) != (old.etcd.external is None):
        problem = "cannot change between external and local etcd"
        yield forbidden(f"{path}.etcd.external", problem)


def _version_change_errors(before: str, after: str) -> list[FieldError]:
    versions = []
    for text, which in ((before, "current"), (after, "updated")):
        try:
            versions.append(parse_tolerant(text))
        except InvalidVersion as error:
            problem = f"failed to parse {which} kubeadmcontrolplane version: {text}: {error}"
            return [FieldError("InternalError", "spec.version", problem)]
    old, new = versions
    if compare(new, Version(old.major, old.minor + 2, 0), pre_releases=False) < 0:
        return []
    problem = f"cannot update Kubernetes version from {before} to {after}"
    return [forbidden("spec.version", problem)]


def _coredns_errors(old: KubeadmControlPlane, new: KubeadmControlPlane) -> list[FieldError]:
    tags = [
        control_plane.spec.kubeadm_config_spec.cluster_configuration.dns.image_tag
        for control_plane in (old, new)
    ]
    if not all(tags):
        return []
    versions = []
    for tag, which in zip(tags, ("current", "target"), strict=True):
        try:
            versions.append(parse_image_tag(tag))
        except InvalidVersion as error:
            problem = f"failed to parse {which} CoreDNS version: {error}"
            return [invalid(_DNS_TAG, tag, problem)]
    before, after = versions
    same = compare(after, before, pre_releases=False) == 0
    if same or Annotation.SKIP_COREDNS in new.metadata.annotations:
        return []
    reason = _migration_problem(str(before.core), str(after.core))
    if not reason:
        return []
    problem = f"cannot migrate CoreDNS up to '{after}' from '{before}': {reason}"
    return [forbidden(_DNS_TAG, problem)]


def _migration_problem(before: str, after: str) -> str:
    """Return why CoreDNS cannot be upgraded from one version to another, "" if it can.

    Its configuration must be migrated step by step (`github.com/coredns/corefile-migration`).
    """
    versions = _COREDNS_VERSIONS.split()
    if before not in versions:
        return f"start version '{before}' not supported"
    if after not in versions[versions.index(before) :]:
        return f"cannot migrate up to '{after}' from '{before}'"
    return ""
