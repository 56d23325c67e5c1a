"""Validation of fields that Machines and worker groups share: version, taints, rollout steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kapy.api.embedded import MachineTaint
from kapy.api.features import FeatureGates
from kapy.api.machine_deployment import MachineDeploymentRolloutStrategyRollingUpdate
from kapy.api.names import Label
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.qualified_names import qualified_name_errors
from kapy.kube.version import InvalidVersion, parse

TAINTS_CLOSED: Final = (
    "taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled"
)
_OWN_TAINTS: Final = frozenset(
    {"node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision"}
)
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def version_errors(
    version: str, path: str, problem: str = "must be a valid semantic version"
) -> list[FieldError]:
    """`v` and a semantic version. "" is one error, two when the field must be set.

    problem: how the error is called for a text that is no version.
    """
    errors = []
    if not version.startswith("v"):
        errors.append(invalid(path, version, "must start with v"))
    try:
        parse(version.removeprefix("v"))
    except InvalidVersion:
        errors.append(invalid(path, version, problem))
    return errors


def taint_errors(
    taints: Sequence[MachineTaint], path: str, gates: FeatureGates
) -> list[FieldError]:
    """Return errors for reserved taint keys, and for all taints while their gate is closed."""
    errors = []
    if taints and not gates.machine_taint_propagation:
        errors.append(forbidden(path, TAINTS_CLOSED))
    for number, taint in enumerate(taints):
        where = f"{path}[{number}].key"
        if problem := _reservation(taint.key):
            errors.append(invalid(where, taint.key, problem))
        errors += [invalid(where, taint.key, error) for error in qualified_name_errors(taint.key)]
    return errors


def worker_taint_errors(
    taints: Sequence[MachineTaint], labels: Mapping[str, str], path: str, gates: FeatureGates
) -> list[FieldError]:
    """Return an error if Machines with these labels are workers and have the taint of control
    planes.
    """
    if not gates.machine_taint_propagation or Label.CONTROL_PLANE in labels:
        return []
    return [
        invalid(f"{path}[{number}].key", taint.key, "taint is not allowed for worker Machines")
        for number, taint in enumerate(taints)
        if taint.key == "node-role.kubernetes.io/control-plane"
    ]


def _reservation(key: str) -> str:
    if key in _OWN_TAINTS:
        return "taint key is not allowed"
    if key.startswith("node.kubernetes.io/") and key != _OUT_OF_SERVICE:
        return (
            f"taint key must not have the prefix node.kubernetes.io/, except for {_OUT_OF_SERVICE}"
        )
    if key.startswith("node.cloudprovider.kubernetes.io/"):
        return "taint key must not have the prefix node.cloudprovider.kubernetes.io/"
    if key == "node-role.kubernetes.io/master":
        return "taint is deprecated since 1.24 and should not be used anymore"
    return ""


def rolling_update_errors(
    step: MachineDeploymentRolloutStrategyRollingUpdate, path: str
) -> list[FieldError]:
    """Return the errors of maxUnavailable and maxSurge. path: the path of the object with both
    fields.
    """
    errors = int_or_percent_errors(f"{path}.maxUnavailable", step.max_unavailable)
    errors += int_or_percent_errors(f"{path}.maxSurge", step.max_surge)
    if step.max_unavailable == 0 and step.max_surge == 0:
        errors.append(invalid(path, "0", "maxUnavailable and maxSurge cannot both be 0"))
    return errors


def int_or_percent_errors(path: str, value: int | str | None) -> list[FieldError]:
    """Return an error if a value is a text that is not a percentage."""
    if not isinstance(value, str):
        return []
    if not value.endswith("%"):
        problem = "invalid type: string is not a percentage"
    elif not _NUMBER.fullmatch(value[:-1]):
        problem = f'invalid value "{value}": strconv.Atoi: parsing "{value[:-1]}": invalid syntax'
    else:
        return []
    problem = f"must be either an int or a percentage: invalid value for IntOrString: {problem}"
    return [invalid(path, value, problem)]
