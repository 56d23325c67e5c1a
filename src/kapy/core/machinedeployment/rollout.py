"""A rollout plan: the current and desired sets, the planned replicas, and the limits of a rolling
update above and below the desired number of replicas.

Planning changes only the `Rollout`; `machinesets` applies it. Every planned change has notes, so
that an operator can read why a set was scaled.

Fields of the limits: `spec.rollout.strategy.rollingUpdate.maxSurge` and `.maxUnavailable`, each a
number or a percentage of `spec.replicas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kapy.api.machine import Machine
from kapy.api.machine_deployment import (
    MachineDeployment,
    MachineDeploymentRolloutStrategy,
    MachineDeploymentRolloutStrategyRollingUpdate,
)
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.template_changes import Difference
from kapy.core.machinedeployment.revisions import revision_annotations
from kapy.kube.errors import KapyError
from kapy.kube.int_or_percent import InvalidIntOrPercent, scaled_value

ROLLING_UPDATE = "RollingUpdate"
ON_DELETE = "OnDelete"
_DEFAULT_STRATEGY = MachineDeploymentRolloutStrategy(
    type=ROLLING_UPDATE,
    rolling_update=MachineDeploymentRolloutStrategyRollingUpdate(max_surge=1, max_unavailable=0),
)


class BadStrategy(KapyError):
    """The rollout strategy is unknown; admission should have refused it."""


@dataclass(slots=True)
class Rollout:
    """The inputs and the state of a rollout plan.

    new, old: the desired sets (the planner changes their annotations, never their replicas, except
    for moved Machines). differences: the reasons for which each old set is old. in_place: for each
    old set, whether it can be updated in place; None if the feature is off. acknowledged: names of
    moved Machines that an earlier plan has counted.
    """

    deployment: MachineDeployment
    new: MachineSet
    old: list[MachineSet]
    machines: Sequence[Machine] = ()
    differences: Mapping[str, Difference] = field(default_factory=dict)
    in_place: Mapping[str, bool] | None = None
    acknowledged: frozenset[str] = frozenset()
    scale: dict[str, int] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def desired(self) -> int:
        """Return the desired replicas of the MachineDeployment (`spec.replicas`)."""
        return self.deployment.spec.replicas or 0

    @property
    def all_sets(self) -> list[MachineSet]:
        return [*self.old, self.new]

    def intent(self, machine_set: MachineSet) -> int:
        """Return the planned replicas of a set."""
        return self.scale.get(machine_set.metadata.name, replicas(machine_set))

    def note(self, machine_set: MachineSet, reason: str) -> None:
        """Record the reason for a change of a set, unless it is recorded already."""
        notes = self.notes.setdefault(machine_set.metadata.name, [])
        if reason not in notes:
            notes.append(reason)

    def scale_to(self, machine_set: MachineSet, count: int, reason: str) -> None:
        """Plan `count` replicas for the set."""
        self.note(machine_set, reason)
        self.scale[machine_set.metadata.name] = count


def replicas(machine_set: MachineSet) -> int:
    """Return the desired replicas of a set (`spec.replicas`)."""
    return machine_set.spec.replicas or 0


def existing_replicas(machine_set: MachineSet) -> int:
    """Return the number of existing Machines of a set (`status.replicas`)."""
    return machine_set.status.replicas or 0


def available(machine_set: MachineSet) -> int:
    """Return the number of available Machines of a set (`status.availableReplicas`)."""
    return machine_set.status.available_replicas or 0


def up_to_date(machine_set: MachineSet) -> int:
    """Return the number of up-to-date Machines of a set (`status.upToDateReplicas`)."""
    return machine_set.status.up_to_date_replicas or 0


def by_age(machine_sets: Iterable[MachineSet]) -> list[MachineSet]:
    """Sort from the oldest to the newest; names break ties."""
    return sorted(
        machine_sets,
        key=lambda machine_set: (
            machine_set.metadata.creation_timestamp or "",
            machine_set.metadata.name,
        ),
    )


def number_new(rollout: Rollout, current: MachineSet | None, old: Sequence[MachineSet]) -> str:
    """Give the new set (`current`, its existing state) the highest revision; return that."""
    annotations, revision = revision_annotations(current, old)
    rollout.new.metadata.annotations.update(annotations)
    if current is not None and current.metadata.annotations.get(Annotation.REVISION) != revision:
        rollout.note(rollout.new, "this is now the current MachineSet")
    return revision


def scale_up_new(rollout: Rollout) -> None:
    """Scale the new set towards the desired number within the surge limit (both strategies).

    Scaling it down never waits for availability.
    """
    new, now = rollout.new, replicas(rollout.new)
    if now == rollout.desired:
        return
    if now > rollout.desired:
        reason = "scale down to align MachineSet spec.replicas to MachineDeployment spec.replicas"
        rollout.scale_to(new, rollout.desired, reason)
        return
    count, reason = new_replicas(rollout.deployment, rollout.all_sets, now)
    if count != now:
        rollout.scale_to(new, count, reason)


def new_replicas(
    deployment: MachineDeployment, machine_sets: Sequence[MachineSet], now: int
) -> tuple[int, str]:
    """Return how many replicas the new set (which has `now`) should have, and why."""
    desired = deployment.spec.replicas or 0
    strategy = strategy_of(deployment)
    total = sum(
        max(replicas(machine_set), existing_replicas(machine_set)) for machine_set in machine_sets
    )
    if strategy.type == ROLLING_UPDATE:
        surge = scaled_value(strategy.rolling_update.max_surge, desired, round_up=True)
        limit, result = (
            desired + surge,
            f"{desired} MachineDeployment spec.replicas + {surge} maxSurge",
        )
    elif strategy.type == ON_DELETE:
        limit, result = desired, f"{desired} MachineDeployment spec.replicas"
    else:
        raise BadStrategy(
            f"failed to compute replicas: deployment strategy {strategy.type} isn't supported"
        )
    if total >= limit:
        return now, f"{total} current Machines >= {result}"
    missing = limit - total
    if strategy.type == ROLLING_UPDATE:
        missing = min(missing, desired - now)
    return now + missing, f"{total} current Machines < {result}"


def fenceposts(
    max_surge: int | str | None, max_unavailable: int | str | None, desired: int
) -> tuple[int, int]:
    """Return surge (rounded up) and unavailable (rounded down) as numbers of replicas.

    If both are zero, the rollout could never proceed: then one replica may be unavailable, because
    surging may be impossible for lack of quota. Raises InvalidIntOrPercent.
    """
    surge = scaled_value(max_surge, desired, round_up=True)
    unavailable = scaled_value(max_unavailable, desired, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, unavailable


def is_rolling(deployment: MachineDeployment) -> bool:
    """Return whether the strategy is RollingUpdate."""
    return strategy_of(deployment).type == ROLLING_UPDATE


def strategy_of(deployment: MachineDeployment) -> MachineDeploymentRolloutStrategy:
    """Return the strategy; admission defaults it to a RollingUpdate that surges by one."""
    return deployment.spec.rollout.strategy or _DEFAULT_STRATEGY


def max_surge(deployment: MachineDeployment) -> int:
    """Replicas above `spec.replicas` that a rolling update may create; 0 for other strategies."""
    return _fenceposts_of(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: MachineDeployment) -> int:
    """Replicas below `spec.replicas` that a rolling update tolerates; 0 for other strategies."""
    replicas = deployment.spec.replicas or 0
    if replicas == 0 or not is_rolling(deployment):
        return 0
    return min(_fenceposts_of(deployment)[1], replicas)


def _fenceposts_of(deployment: MachineDeployment) -> tuple[int, int]:
    update = strategy_of(deployment).rolling_update
    try:
        return fenceposts(update.max_surge, update.max_unavailable, deployment.spec.replicas or 0)
    except InvalidIntOrPercent:
        return 0, 0
