"""Plan the OnDelete strategy: old Machines go when a user deletes them, or when there are
too many.
"""

from __future__ import annotations

from kapy.core.machinedeployment.rollout import (
    Rollout,
    by_age,
    existing_replicas,
    replicas,
    scale_up_new,
)


def plan_on_delete(rollout: Rollout) -> None:
    """Scale the new set up by the number of deleted Machines, and old sets down to
    existing ones.
    """
    scale_up_new(rollout)
    if not sum(map(replicas, rollout.old)):
        return
    surplus = sum(map(replicas, rollout.old)) + rollout.intent(rollout.new) - rollout.desired
    surplus = max(surplus, 0)
    rollout.old[:] = by_age(rollout.old)
    surplus -= _forget_deleted(rollout)
    _shrink_by(rollout, surplus)


def _forget_deleted(rollout: Rollout) -> int:
    """Remove replicas without a Machine (deleted, or never created) from the old sets."""
    forgotten = 0
    for old in rollout.old:
        missing = max(replicas(old) - existing_replicas(old), 0)
        if missing:
            rollout.scale_to(
                old, replicas(old) - missing, "scale down to align to existing Machines"
            )
            forgotten += missing
    return forgotten


def _shrink_by(rollout: Rollout, surplus: int) -> None:
    reason = "scale down to align MachineSet spec.replicas to MachineDeployment spec.replicas"
    for old in rollout.old:
        if surplus <= 0:
            return
        count = min(rollout.intent(old), surplus)
        if count > 0:
            rollout.scale_to(old, max(replicas(old) - count, 0), reason)
            surplus -= count
