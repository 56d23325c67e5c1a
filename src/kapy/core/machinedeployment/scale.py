"""Scale all sets of a MachineDeployment with a paused rollout in proportion (pure functions).

While a rollout does not proceed, scaling only the new or only the old sets would continue it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.template_changes import creation_time
from kapy.core.machinedeployment.rollout import available, is_rolling, max_surge, replicas


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
