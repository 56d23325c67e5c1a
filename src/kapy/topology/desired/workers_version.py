"""The version that MachineDeployments and MachinePools should have now; both follow the same
rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.cluster_topology_workers import MachineDeploymentTopology, MachinePoolTopology
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation
from kapy.topology.desired.inputs import Inputs
from kapy.topology.hooks import Hook
from kapy.topology.upgrade_plan import BadUpgradePlan
from kapy.topology.upgrade_tracker import WorkersUpgrade

Topology = MachineDeploymentTopology | MachinePoolTopology

_WORKER_HOLD_HOOKS: Final = (Hook.AFTER_CONTROL_PLANE_UPGRADE, Hook.BEFORE_WORKERS_UPGRADE)
_HOLD_ANNOTATIONS: Final = (
    Annotation.TOPOLOGY_DEFER_UPGRADE,
    Annotation.TOPOLOGY_HOLD_UPGRADE_SEQUENCE,
)


def workers_version(
    inputs: Inputs,
    topology: Topology,
    siblings: Sequence[Topology],
    current: MachineDeployment | MachinePool | None,
    upgrade: WorkersUpgrade,
) -> str:
    """Return the target version for new workers; otherwise their current version or the next
    version of the plan.

    siblings: all groups of the kind, in the topology's order. upgrade: receives the decision.
    """
    target = inputs.blueprint.topology.version
    is_held = inputs.calls.is_blocked_by(*_WORKER_HOLD_HOOKS)
    control_plane = inputs.upgrades.control_plane
    if current is None:
        if is_held or not control_plane.is_stable:
            # Machines could not join while the load balancer still uses API servers that are being
            # removed.
            upgrade.pending_create.add(topology.name)
        return target
    has, name = current.spec.template.spec.version, current.metadata.name
    if has == target:
        return has
    is_deferred = _is_deferred(topology, siblings)
    if is_deferred:
        upgrade.deferred.add(name)
    if (
        is_deferred
        or is_held
        or upgrade.is_concurrency_reached
        or not control_plane.lets_workers_upgrade
        or _next_version(upgrade, current) == has
    ):
        upgrade.pending.add(name)
        return has
    upgrade.upgrading.add(name)
    return _next_version(upgrade, current)


def _next_version(upgrade: WorkersUpgrade, current: MachineDeployment | MachinePool) -> str:
    """Return the next version of the workers' plan.

    The plan starts with the version of the slowest workers until all have it. Groups that have it
    already wait for the control plane's next step.
    """
    if not upgrade.plan:
        kind = current.RESOURCE.kind
        what = "machine deployment" if kind == "MachineDeployment" else "machine pool"
        raise BadUpgradePlan(
            f"cannot compute the {what} version if the {what} is pending upgrade and the upgrade "
            "plan is not set"
        )
    return upgrade.plan[0]


def _is_deferred(topology: Topology, siblings: Sequence[Topology]) -> bool:
    """Return whether the user holds this group back, or holds the sequence at a group before it."""
    if any(annotation in topology.metadata.annotations for annotation in _HOLD_ANNOTATIONS):
        return True
    for sibling in siblings:
        if Annotation.TOPOLOGY_HOLD_UPGRADE_SEQUENCE in sibling.metadata.annotations:
            return True
        if sibling.name == topology.name:
            return False
    return False
