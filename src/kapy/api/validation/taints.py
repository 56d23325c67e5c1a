"""Taints that Machines put on their Nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kapy.api.embedded import MachineTaint
from kapy.api.features import FeatureGates
from kapy.api.names import Label
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.qualified_names import qualified_name_errors

CLOSED: Final = (
    "taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled"
)
_OWN: Final = frozenset(
    {"node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision"}
)
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


def taint_errors(
    taints: Sequence[MachineTaint], path: str, gates: FeatureGates
) -> list[FieldError]:
    """Return errors for reserved taint keys, and for all taints while their gate is closed."""
    errors = []
    if taints and not gates.machine_taint_propagation:
        errors.append(forbidden(path, CLOSED))
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
    if key in _OWN:
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
