"""Validation of ClusterResourceSets and ClusterResourceSetBindings."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.features import FeatureGates
from kapy.api.validation.metadata import format_selector, parse_selector
from kapy.kube.field_errors import FieldError, invalid

_SELECTOR: Final = "spec.clusterSelector"
_IMMUTABLE: Final = "field is immutable"


def cluster_resource_set_errors(
    new: ClusterResourceSet, old: ClusterResourceSet | None, _: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a ClusterResourceSet."""
    spec = new.spec
    parsed, errors = parse_selector(spec.cluster_selector, _SELECTOR)
    if parsed is not None and parsed.everything:
        problem = "selector must not be empty"
        errors.append(invalid(_SELECTOR, format_selector(spec.cluster_selector), problem))
    if old is not None and old.spec.strategy not in ("", spec.strategy):
        errors.append(invalid("spec.strategy", spec.strategy, _IMMUTABLE))
    if old is not None and old.spec.cluster_selector != spec.cluster_selector:
        errors.append(invalid(_SELECTOR, format_selector(spec.cluster_selector), _IMMUTABLE))
    return errors


def cluster_resource_set_binding_errors(
    new: ClusterResourceSetBinding, old: ClusterResourceSetBinding | None, _: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a ClusterResourceSetBinding."""
    name = new.spec.cluster_name
    if old is None or old.spec.cluster_name in ("", name):
        return []
    return [invalid("spec.clusterName", name, _IMMUTABLE)]
