"""Selectors of patch definitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.api.cluster_class_patches import PatchSelector
from kapy.api.validation.patch_selectors import is_class_named
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.topology.patches.item import (
    BOOTSTRAP_REF,
    CONTROL_PLANE_REF,
    INFRASTRUCTURE_REF,
    MACHINE_INFRASTRUCTURE_REF,
    Item,
)
from kapy.topology.patches.values import Values

_CONTROL_PLANE_MACHINES: Final = tuple(
    ControlPlane.infrastructure_ref.path(version) for version in Version
)


def selects(selector: PatchSelector, item: Item, values: Values) -> bool:
    """Whether a selector matches a template in the place where it is used."""
    if (item.api_version, item.kind) != (selector.api_version, selector.kind):
        return False
    matches, holder = selector.match_resources, item.holder
    path = holder.field_path
    if holder.kind == "Cluster":
        return bool(
            (matches.infrastructure_cluster and path == INFRASTRUCTURE_REF)
            or (matches.control_plane and path == CONTROL_PLANE_REF)
        )
    if matches.control_plane and path in _CONTROL_PLANE_MACHINES:
        return True
    if path not in (BOOTSTRAP_REF, MACHINE_INFRASTRUCTURE_REF):
        return False
    if holder.kind == "MachineDeployment" and matches.machine_deployment_class is not None:
        return _names(matches.machine_deployment_class.names, values.machine_deployment_class)
    if holder.kind == "MachinePool" and matches.machine_pool_class is not None:
        return _names(matches.machine_pool_class.names, values.machine_pool_class)
    return False


def _names(names: Iterable[str], class_: str | None) -> bool:
    return class_ is not None and any(is_class_named(class_, name) for name in names)
