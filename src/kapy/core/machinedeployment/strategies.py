"""Plan the replicas of a MachineDeployment's sets: by the strategies RollingUpdate and OnDelete, or
in proportion while the rollout is paused.

With RollingUpdate old Machines are deleted only as far as `maxUnavailable` allows in the worst
case: the MachineSet controller may delete an available Machine although there is an unavailable
one, so scaling down always counts as losing available ones.

With OnDelete old Machines go when a user deletes them, or when there are too many.

While a paused rollout does not proceed, scaling only the new or only the old sets would continue
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.template_changes import creation_time
from kapy.core.machinedeployment.in_place import acknowledge_moves, prefer_in_place
from kapy.core.machinedeployment.rollout import (
    Rollout,
    available,
    by_age,
    existing_replicas,
    is_rolling,
    max_surge,
    max_unavailable,
    replicas,
    scale_up_new,
)


def plan_rolling_update(rollout: Rollout) -> None:
    """Grow the new set, shrink the old ones, and resolve the one possible deadlock."""
    acknowledge_moves(rollout)
    scale_up_new(rollout)
    _shrink_old(rollout)
    prefer_in_place(rollout)
    _break_deadlock(rollout)


def _shrink_old(rollout: Rollout) -> None:
    if not sum(map(replicas, rollout.old)):
        return
    everything = rollout.all_sets
    least = max(rollout.desired - max_unavailable(rollout.deployment), 0)
    pending = sum(
        max(
            existing_replicas(machine_set)
            - min(replicas(machine_set), rollout.intent(machine_set)),
            0,
        )
        for machine_set in everything
    )
    # Unavailable Machines of the new set stop the rollout: a broken template must not reach every
    # Machine.
    not_yet = max(replicas(rollout.new) - available(rollout.new), 0)
    spare = max(sum(map(replicas, everything)) - pending - least - not_yet, 0)
    if not spare:
        return
    rollout.old[:] = by_age(rollout.old)
    budget = _Budget(spare, sum(map(available, everything)), least)
    for unavailable_only in (True, False):
        for old in rollout.old:
            if budget.spare > 0:
                _shrink_one(rollout, budget, old, unavailable_only=unavailable_only)


class _Budget:
    """The number of old replicas that a rolling update may remove. spare: replicas that may still
    be removed. available: available Machines in the worst case.
    """

    def __init__(self, spare: int, available: int, least: int) -> None:
        self.spare = spare
        self.available = available
        self.least = least


def _shrink_one(
    rollout: Rollout, budget: _Budget, old: MachineSet, *, unavailable_only: bool
) -> None:
    now = rollout.intent(old)
    limit = max(now - available(old), 0) if unavailable_only else now
    count = min(limit, budget.spare)
    if now <= 0 or count == 0:
        return
    before = budget.available
    if available(old) > 0:
        count = _within_availability(budget, old, now, count)
    if count <= 0:
        return
    reason = f"{before} available replicas > {budget.least} minimum available replicas"
    if budget.available == before:
        reason = (
            "scale down to align to existing Machines or scale down by removing unavailable "
            "replicas (and no available replicas exist on the MachineSet)"
        )
    rollout.scale_to(old, max(now - count, 0), reason)
    budget.spare = max(budget.spare - count, 0)


def _within_availability(budget: _Budget, old: MachineSet, now: int, count: int) -> int:
    """Return how many of `count` replicas may be removed; their worst-case cost is subtracted from
    the budget.
    """
    deleted = max(existing_replicas(old) - (now - count), 0)
    if deleted == 0:
        return count
    tolerable = max(budget.available - budget.least, 0)
    if deleted > budget.available - budget.least:
        target = min(existing_replicas(old) - tolerable, now)
        count = max(now - target, 0)
        deleted = max(existing_replicas(old) - target, 0)
    budget.available -= min(available(old), deleted)
    return count


def _break_deadlock(rollout: Rollout) -> None:
    """Remove an unavailable old Machine if nothing else can proceed.

    Such Machines would never be remediated, since their set is being scaled down.
    """
    present = sum(map(existing_replicas, rollout.old))
    if present == 0 or present == sum(map(available, rollout.old)):
        return
    if rollout.scale.keys() & {machine_set.metadata.name for machine_set in rollout.all_sets}:
        return
    if any(
        replicas(machine_set) != existing_replicas(machine_set) for machine_set in rollout.all_sets
    ):
        return
    if available(rollout.new) != existing_replicas(rollout.new):
        return
    for old in rollout.old:
        if available(old) != existing_replicas(old) and replicas(old):
            rollout.note(
                rollout.new,
                "scaling down by 1 to unblock rollout stuck due to unavailable Machine on oldMS",
            )
            rollout.scale[old.metadata.name] = replicas(old) - 1
            return


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


def proportional_scale(
    deployment: MachineDeployment, new: MachineSet | None, old: Sequence[MachineSet]
) -> dict[str, int]:
    """Return replicas by set name, for the sets that must change."""
    desired = deployment.spec.replicas or 0
    only = _one_active_or_latest(new, old)
    if only is not None:
        return _changed_sizes([only], {only.metadata.name: desired})
    if new is not None and _is_saturated(deployment, new):
        active = [machine_set for machine_set in old if replicas(machine_set) > 0]
        return _changed_sizes(active, {machine_set.metadata.name: 0 for machine_set in active})
    if not is_rolling(deployment):
        return {}
    active = [
        machine_set
        for machine_set in (*old, new)
        if machine_set is not None and replicas(machine_set) > 0
    ]
    return _distribute(deployment, active)


def _distribute(deployment: MachineDeployment, active: list[MachineSet]) -> dict[str, int]:
    desired = deployment.spec.replicas or 0
    allowed = desired + max_surge(deployment) if desired > 0 else 0
    to_add = allowed - sum(map(replicas, active))
    if to_add == 0:
        return {}
    # The largest set first; of equal ones the newest grows first and the oldest shrinks first.
    active.sort(key=creation_time, reverse=to_add > 0)
    active.sort(key=replicas, reverse=True)
    added, sizes = 0, dict[str, int]()
    for machine_set in active:
        share = proportion(machine_set, deployment, to_add, added)
        sizes[machine_set.metadata.name] = replicas(machine_set) + share
        added += share
    if active:
        largest = active[0].metadata.name
        sizes[largest] = max(sizes[largest] + to_add - added, 0)
    return _changed_sizes(active, sizes)


def proportion(
    machine_set: MachineSet, deployment: MachineDeployment, to_add: int, added: int
) -> int:
    """Return the set's share of the `to_add` replicas (negative: to remove) of which `added` are
    distributed already.
    """
    if replicas(machine_set) == 0 or to_add in (0, added):
        return 0
    share, rest = _fraction(machine_set, deployment), to_add - added
    return min(share, rest) if to_add > 0 else max(share, rest)


def _fraction(machine_set: MachineSet, deployment: MachineDeployment) -> int:
    """Return how much the set must change to keep its proportion."""
    desired, size = deployment.spec.replicas or 0, replicas(machine_set)
    if desired == 0:
        return -size
    whole = _number(machine_set, Annotation.MAX_REPLICAS)
    if whole is None:
        whole = deployment.status.replicas or 0
    return _divide_rounded(size * (desired + max_surge(deployment)), whole) - size


def _divide_rounded(dividend: int, divisor: int) -> int:
    """Round to the nearest integer, halves away from zero; division by zero returns zero."""
    if divisor == 0:
        return 0
    quotient = dividend / divisor
    return int(quotient + 0.5) if quotient >= 0 else int(quotient - 0.5)


def _one_active_or_latest(new: MachineSet | None, old: Sequence[MachineSet]) -> MachineSet | None:
    """Return the only set with Machines; the newest if none has any; None if several have."""
    newest_first = sorted(
        old,
        key=lambda machine_set: (creation_time(machine_set), machine_set.metadata.name),
        reverse=True,
    )
    machine_sets = [machine_set for machine_set in (*newest_first, new) if machine_set is not None]
    active = [machine_set for machine_set in machine_sets if replicas(machine_set) > 0]
    if len(active) == 1:
        return active[0]
    if active or not machine_sets:
        return None
    return new if new is not None else newest_first[0]


def _is_saturated(deployment: MachineDeployment, machine_set: MachineSet) -> bool:
    """Return whether the set alone has all replicas, by its own and the
    MachineDeployment's fields.
    """
    desired = deployment.spec.replicas or 0
    wanted = _number(machine_set, Annotation.DESIRED_REPLICAS)
    return replicas(machine_set) == wanted == available(machine_set) == desired


def _number(machine_set: MachineSet, annotation: str) -> int | None:
    try:
        return int(machine_set.metadata.annotations[annotation])
    except (KeyError, ValueError):
        return None


def _changed_sizes(machine_sets: Sequence[MachineSet], sizes: dict[str, int]) -> dict[str, int]:
    names = {machine_set.metadata.name: replicas(machine_set) for machine_set in machine_sets}
    return {name: size for name, size in sizes.items() if names[name] != size}
