"""Validation of a ClusterClass without the Clusters that use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_template import ClusterClassTemplateReference
from kapy.api.cluster_class_workers import MachineDeploymentClass, MachinePoolClass
from kapy.api.features import FeatureGates
from kapy.api.validation.cluster import NO_VERSION
from kapy.api.validation.cluster_class_patches import patch_errors
from kapy.api.validation.cluster_class_variables import variable_errors
from kapy.api.validation.features import closed_gate_error
from kapy.api.validation.machine_fields import (
    int_or_percent_errors,
    rolling_update_errors,
    taint_errors,
)
from kapy.api.validation.machine_health_check import health_check_errors
from kapy.api.validation.metadata import class_naming_errors, template_metadata_errors
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.model import encode
from kapy.kube.names import split_api_version
from kapy.kube.regexp import allowance
from kapy.kube.version import InvalidVersion, Version, compare, parse_tolerant

_TEMPLATE: Final = "Template"
_WORKERS: Final = "spec.workers"


def cluster_class_errors(
    new: ClusterClass, old: ClusterClass | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a ClusterClass."""
    if not gates.cluster_topology:
        return [closed_gate_error("ClusterTopology")]
    errors = [
        *_template_errors(new),
        *_class_errors(new.spec.workers.machine_deployments, "MachineDeployment"),
        *_class_errors(new.spec.workers.machine_pools, "MachinePool"),
        *_rollout_errors(new),
        *_health_check_errors(new),
        *_naming_errors(new),
        *_taint_errors(new, gates),
        *variable_errors(new.spec.variables),
        *_patch_errors(new, gates),
        *_metadata_errors(new),
        *_version_errors(new.spec.kubernetes_versions),
    ]
    return errors if old is None else [*errors, *compatibility_errors(old, new)]


def _patch_errors(new: ClusterClass, gates: FeatureGates) -> list[FieldError]:
    with allowance():
        return list(patch_errors(new, gates))


def _template_errors(new: ClusterClass) -> Iterator[FieldError]:
    spec = new.spec
    yield from _reference_errors(spec.infrastructure.template_ref, "spec.infrastructure")
    yield from _reference_errors(spec.control_plane.template_ref, "spec.controlPlane")
    if (machines := spec.control_plane.machine_infrastructure) is not None:
        yield from _reference_errors(
            machines.template_ref, "spec.controlPlane.machineInfrastructure"
        )
    for path, worker in _workers(new):
        template = f"{path}.template"
        yield from _reference_errors(worker.bootstrap.template_ref, f"{template}.bootstrap")
        yield from _reference_errors(
            worker.infrastructure.template_ref, f"{template}.infrastructure"
        )


def _workers(new: ClusterClass) -> Iterator[tuple[str, MachineDeploymentClass | MachinePoolClass]]:
    """Yield the classes of workers with their paths, which contain the index in the list."""
    workers = new.spec.workers
    for number, deployment in enumerate(workers.machine_deployments):
        yield f"{_WORKERS}.machineDeployments[{number}]", deployment
    for number, pool in enumerate(workers.machine_pools):
        yield f"{_WORKERS}.machinePools[{number}]", pool


def _named_workers(
    new: ClusterClass,
) -> Iterator[tuple[str, MachineDeploymentClass | MachinePoolClass]]:
    """Yield the classes of workers with their paths, which contain the name of the class."""
    for path, worker in _workers(new):
        yield f"{path.partition('[')[0]}[{worker.class_}]", worker


def _reference_errors(ref: ClusterClassTemplateReference, path: str) -> Iterator[FieldError]:
    if not ref.name:
        yield required(f"{path}.ref.name", "template name must be defined")
    if len(ref.kind) <= len(_TEMPLATE) or not ref.kind.endswith(_TEMPLATE):
        problem = f'template kind must be of form "<name>{_TEMPLATE}"'
        yield invalid(f"{path}.ref.kind", ref.kind, problem)
    where = f"{path}.ref.apiVersion"
    if not ref.api_version:
        yield required(where, "template apiVersion must be defined")
    elif ref.api_version.count("/") > 1:
        problem = f"unexpected GroupVersion string: {ref.api_version}"
        yield invalid(
            where,
            ref.api_version,
            f"template apiVersion must be a valid Kubernetes apiVersion: {problem}",
        )


def _class_errors(
    classes: Sequence[MachineDeploymentClass | MachinePoolClass], kind: str
) -> Iterator[FieldError]:
    names: set[str] = set()
    for number, cluster_class in enumerate(classes):
        if cluster_class.class_ in names:
            field = f"{kind[0].lower()}{kind[1:]}s"
            problem = (
                f"{kind} class must be unique. {kind} with class "
                f'"{cluster_class.class_}" is defined more than once'
            )
            yield invalid(f"{_WORKERS}.{field}[{number}].class", cluster_class.class_, problem)
        names.add(cluster_class.class_)


def _rollout_errors(new: ClusterClass) -> Iterator[FieldError]:
    for deployment in new.spec.workers.machine_deployments:
        if (strategy := deployment.rollout.strategy) is not None:
            path = (
                f"{_WORKERS}.machineDeployments[{deployment.class_}].rollout.strategy.rollingUpdate"
            )
            yield from rolling_update_errors(strategy.rolling_update, path)


def _health_check_errors(new: ClusterClass) -> Iterator[FieldError]:
    control_plane = new.spec.control_plane
    check = control_plane.health_check
    if encode(check):
        path = "spec.controlPlane.healthCheck"
        yield from health_check_errors(check.checks, check.remediation.trigger_if, path)
        if control_plane.machine_infrastructure is None:
            problem = "can be only set if spec.controlPlane.machineInfrastructure is set"
            yield forbidden(path, problem)
    for deployment in new.spec.workers.machine_deployments:
        path = f"{_WORKERS}.machineDeployments[{deployment.class_}].healthCheck"
        remediation = deployment.health_check.remediation
        yield from health_check_errors(deployment.health_check.checks, remediation.trigger_if, path)
        in_flight = remediation.max_in_flight
        yield from int_or_percent_errors(f"{path}.remediation.maxInFlight", in_flight)


def _naming_errors(new: ClusterClass) -> Iterator[FieldError]:
    spec = new.spec
    template = spec.infrastructure.naming.template
    yield from class_naming_errors(template, "spec.infrastructure.naming", "InfraCluster")
    template = spec.control_plane.naming.template
    yield from class_naming_errors(template, "spec.controlPlane.naming", "ControlPlane")
    for path, worker in _named_workers(new):
        if isinstance(worker, MachinePoolClass):
            what, names = "MachinePool", {"machinePool": {"topologyName": "mptopology"}}
        else:
            what, names = "MachineDeployment", {"machineDeployment": {"topologyName": "mdtopology"}}
        yield from class_naming_errors(worker.naming.template, f"{path}.naming", what, names)


def _taint_errors(new: ClusterClass, gates: FeatureGates) -> Iterator[FieldError]:
    yield from taint_errors(new.spec.control_plane.taints, "spec.controlPlane.taints", gates)
    for path, worker in _named_workers(new):
        yield from taint_errors(worker.taints, f"{path}.taints", gates)


def _metadata_errors(new: ClusterClass) -> Iterator[FieldError]:
    path = "spec.controlPlane.metadata"
    yield from template_metadata_errors(new.spec.control_plane.metadata, path)
    for path, worker in _named_workers(new):
        yield from template_metadata_errors(worker.metadata, f"{path}.template.metadata")


def _version_errors(versions: Sequence[str]) -> Iterator[FieldError]:
    """Check that versions are sorted, oldest first, and that no minor version is missing."""
    before: Version | None = None
    for number, text in enumerate(versions):
        where = f"spec.kubernetesVersion[{number}]"
        try:
            version = parse_tolerant(text)
        except InvalidVersion:
            yield invalid(where, text, NO_VERSION)
            continue
        if before is not None:
            if compare(version, before, build_tags=True) <= 0:
                yield invalid(where, text, f"version must be greater than v{before}")
            if version.minor not in (before.minor, before.minor + 1):
                problem = (
                    f"expecting a version with minor {before.minor} or {before.minor + 1}, "
                    f"found version {version}"
                )
                yield invalid(where, text, problem)
        before = version


def compatibility_errors(old: ClusterClass, new: ClusterClass) -> Iterator[FieldError]:
    """Yield the errors of a change of a ClusterClass that is in use.

    The templates of a class must keep their kinds, because objects cannot become objects of another
    kind.
    """
    before, after = old.spec, new.spec
    yield from _kept_kind(
        before.infrastructure.template_ref,
        after.infrastructure.template_ref,
        "spec.infrastructure.templateRef",
    )
    yield from _kept_kind(
        before.control_plane.template_ref,
        after.control_plane.template_ref,
        "spec.controlPlane.templateRef",
    )
    yield from _kept_kind(
        _machine_template(old),
        _machine_template(new),
        "spec.controlPlane.machineInfrastructure.templateRef",
    )
    for path, worker in _workers(new):
        for _, other in _workers(old):
            if type(other) is type(worker) and other.class_ == worker.class_:
                yield from _kept_kind(
                    other.infrastructure.template_ref,
                    worker.infrastructure.template_ref,
                    f"{path}.infrastructure.templateRef",
                )


def _machine_template(cluster_class: ClusterClass) -> ClusterClassTemplateReference | None:
    machines = cluster_class.spec.control_plane.machine_infrastructure
    return machines.template_ref if machines is not None else None


def _kept_kind(
    old: ClusterClassTemplateReference | None, new: ClusterClassTemplateReference | None, path: str
) -> Iterator[FieldError]:
    before, after = (
        (split_api_version(reference.api_version)[0], reference.kind)
        if reference is not None
        else ("", "")
        for reference in (old, new)
    )
    for was, is_, field, what in (
        (before[0], after[0], "apiVersion", "group of apiVersion"),
        (before[1], after[1], "kind", "kind"),
    ):
        if was != is_:
            yield forbidden(
                f"{path}.{field}",
                f'{what} cannot be changed from "{was}" to "{is_}" to prevent incompatible '
                "changes in the Clusters",
            )
