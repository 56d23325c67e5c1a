"""Validation of Machines, MachineSets, MachineDeployments and MachinePools."""

from __future__ import annotations

from typing import Final

from kapy.api.absent import is_defined
from kapy.api.embedded import LabelSelector
from kapy.api.features import FeatureGates
from kapy.api.machine import Bootstrap, Machine, MachineTemplateSpec
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation, Label
from kapy.api.validation.features import closed_gate_error
from kapy.api.validation.machine_fields import (
    TAINTS_CLOSED,
    int_or_percent_errors,
    rolling_update_errors,
    taint_errors,
    version_errors,
    worker_taint_errors,
)
from kapy.api.validation.metadata import (
    name_as_label_errors,
    naming_errors,
    parse_selector,
    template_metadata_errors,
)
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.meta import Object

PREFLIGHT_CHECKS: Final = (
    "All",
    "ControlPlaneIsStable",
    "ControlPlaneVersionSkew",
    "KubeadmVersionSkew",
    "KubernetesVersionSkew",
)
_TEMPLATE: Final = "spec.template.spec"


def machine_errors(machine: Machine, old: Machine | None, gates: FeatureGates) -> list[FieldError]:
    """Return the validation errors of a Machine."""
    spec = machine.spec
    errors = [] if _of_machine_pool(machine) else _bootstrap_errors(spec.bootstrap, "spec")
    if old is not None and old.spec.cluster_name != spec.cluster_name:
        errors.append(forbidden("spec.clusterName", "field is immutable"))
    if spec.version:
        errors += version_errors(spec.version, "spec.version")
    errors += taint_errors(spec.taints, "spec.taints", gates)
    labels = machine.metadata.labels
    return errors + worker_taint_errors(spec.taints, labels, "spec.taints", gates)


def machine_set_errors(
    machine_set: MachineSet, old: MachineSet | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a MachineSet."""
    spec = machine_set.spec
    errors = _bootstrap_errors(spec.template.spec.bootstrap, _TEMPLATE)
    errors += _selector_errors(spec.selector, spec.template, names_value=True)
    errors += _preflight_errors(machine_set, gates)
    errors += _cluster_name_errors(
        spec.cluster_name, spec.template, old.spec.cluster_name if old is not None else None
    )
    errors += _template_errors(spec.template, gates)
    errors += naming_errors(spec.machine_naming.template, "spec.machineNaming", "machineSet")
    return errors + template_metadata_errors(spec.template.metadata, "spec.template.metadata")


def machine_deployment_errors(
    deployment: MachineDeployment, old: MachineDeployment | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a MachineDeployment."""
    spec = deployment.spec
    errors = name_as_label_errors(deployment.metadata.name, ": ")
    errors += _bootstrap_errors(spec.template.spec.bootstrap, _TEMPLATE)
    errors += _selector_errors(spec.selector, spec.template, names_value=False)
    errors += _preflight_errors(deployment, gates)
    errors += _cluster_name_errors(
        spec.cluster_name, spec.template, old.spec.cluster_name if old is not None else None
    )
    errors += _rollout_errors(deployment)
    in_flight = spec.remediation.max_in_flight
    errors += int_or_percent_errors("spec.remediation.maxInFlight", in_flight)
    if spec.template.spec.version:
        errors += version_errors(spec.template.spec.version, f"{_TEMPLATE}.version")
    errors += naming_errors(spec.machine_naming.template, "spec.machineNaming", "machineSet")
    taints = spec.template.spec.taints
    errors += taint_errors(taints, f"{_TEMPLATE}.taints", gates)
    errors += worker_taint_errors(taints, {}, f"{_TEMPLATE}.taints", gates)
    return errors + template_metadata_errors(spec.template.metadata, "spec.template.metadata")


def _of_machine_pool(machine: Machine) -> bool:
    metadata = machine.metadata
    return Label.POOL_NAME in metadata.labels or any(
        owner.kind == "MachinePool" for owner in metadata.owner_references
    )


def _bootstrap_errors(bootstrap: Bootstrap, path: str) -> list[FieldError]:
    """Return an error if the bootstrap has neither a Secret nor a reference. An empty reference
    counts as none.
    """
    if bootstrap.data_secret_name is not None or is_defined(bootstrap.config_ref):
        return []
    where = f"{path}.bootstrap"
    return [
        required(
            where, f"expected either {where}.dataSecretName or {where}.configRef to be populated"
        )
    ]


def _selector_errors(
    selector: LabelSelector, template: MachineTemplateSpec, *, names_value: bool
) -> list[FieldError]:
    """Return an error if the selector does not select the template's labels. names_value: show the
    labels in the error.
    """
    wanted, errors = parse_selector(selector, "spec.selector")
    if wanted is None:
        return errors
    labels = template.metadata.labels
    if wanted.matches(labels):
        return []
    where, problem = "spec.template.metadata.labels", f'must match spec.selector "{wanted}"'
    return [invalid(where, labels, problem) if names_value else forbidden(where, problem)]


def _preflight_errors(obj: Object, gates: FeatureGates) -> list[FieldError]:
    skip = obj.metadata.annotations.get(Annotation.SKIP_PREFLIGHT_CHECKS, "")
    if not skip or not gates.machine_set_preflight_checks:
        return []
    unknown = [name for part in skip.split(",") if (name := part.strip()) not in PREFLIGHT_CHECKS]
    if not unknown:
        return []
    where = f"metadata.annotations.{Annotation.SKIP_PREFLIGHT_CHECKS}"
    checks = " ".join(PREFLIGHT_CHECKS)
    return [invalid(where, unknown, f"skipped preflight check(s) must be among: [{checks}]")]


def _cluster_name_errors(
    name: str, template: MachineTemplateSpec, old: str | None
) -> list[FieldError]:
    errors = []
    where = "spec.clusterName"
    if old is not None and old != name:
        errors.append(forbidden(where, "field is immutable"))
    if name != template.spec.cluster_name:
        problem = (
            "spec.clusterName and spec.template.spec.clusterName must be set to the same value"
        )
        errors.append(invalid(where, name, problem))
    return errors


def _template_errors(template: MachineTemplateSpec, gates: FeatureGates) -> list[FieldError]:
    spec = template.spec
    errors = version_errors(spec.version, f"{_TEMPLATE}.version") if spec.version else []
    errors += taint_errors(spec.taints, f"{_TEMPLATE}.taints", gates)
    return errors + worker_taint_errors(spec.taints, {}, f"{_TEMPLATE}.taints", gates)


def _rollout_errors(deployment: MachineDeployment) -> list[FieldError]:
    strategy = deployment.spec.rollout.strategy
    if strategy is None:
        return []
    return rolling_update_errors(strategy.rolling_update, "spec.rollout.strategy.rollingUpdate")


def machine_pool_errors(
    pool: MachinePool, old: MachinePool | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a MachinePool."""
    if not gates.machine_pool:
        return [closed_gate_error("MachinePool")]
    template = pool.spec.template
    before = old.spec.cluster_name if old is not None else None
    errors = _bootstrap_errors(template.spec.bootstrap, _TEMPLATE)
    errors += _cluster_name_errors(pool.spec.cluster_name, template, before)
    if template.spec.version:
        errors += version_errors(template.spec.version, f"{_TEMPLATE}.version")
    if template.spec.taints:
        errors += _taint_errors(gates)
    return errors + template_metadata_errors(template.metadata, "spec.template.metadata")


def _taint_errors(gates: FeatureGates) -> list[FieldError]:
    path = "spec.taints"
    errors = [forbidden(path, "taints feature for MachinePools is not yet implemented")]
    if not gates.machine_taint_propagation:
        errors.append(forbidden(path, TAINTS_CLOSED))
    return errors
