"""Validation of MachinePools."""

from __future__ import annotations

from typing import Final

from kapy.api.features import FeatureGates
from kapy.api.machine_pool import MachinePool
from kapy.api.validation.features import closed_gate_error
from kapy.api.validation.machines import bootstrap_errors, cluster_name_errors
from kapy.api.validation.metadata import template_metadata_errors
from kapy.api.validation.taints import CLOSED
from kapy.api.validation.versions import version_errors
from kapy.kube.field_errors import FieldError, forbidden

_TEMPLATE: Final = "spec.template.spec"


def machine_pool_errors(
    pool: MachinePool, old: MachinePool | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a MachinePool."""
    if not gates.machine_pool:
        return [closed_gate_error("MachinePool")]
    template = pool.spec.template
    before = old.spec.cluster_name if old is not None else None
    errors = bootstrap_errors(template.spec.bootstrap, _TEMPLATE)
    errors += cluster_name_errors(pool.spec.cluster_name, template, before)
    if template.spec.version:
        errors += version_errors(template.spec.version, f"{_TEMPLATE}.version")
    if template.spec.taints:
        errors += _taint_errors(gates)
    return errors + template_metadata_errors(template.metadata, "spec.template.metadata")


def _taint_errors(gates: FeatureGates) -> list[FieldError]:
    path = "spec.taints"
    errors = [forbidden(path, "taints feature for MachinePools is not yet implemented")]
    if not gates.machine_taint_propagation:
        errors.append(forbidden(path, CLOSED))
    return errors
