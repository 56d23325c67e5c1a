"""The limits of a rolling update above and below the desired number of replicas.

Fields: `spec.rollout.strategy.rollingUpdate.maxSurge` and `.maxUnavailable`, each a number or a
percentage of `spec.replicas`.
"""

from __future__ import annotations

from kapy.api.machine_deployment import (
    MachineDeployment,
    MachineDeploymentRolloutStrategy,
    MachineDeploymentRolloutStrategyRollingUpdate,
)
from kapy.kube.errors import KapyError
from kapy.kube.int_or_percent import InvalidIntOrPercent, scaled_value

ROLLING_UPDATE = "RollingUpdate"
ON_DELETE = "OnDelete"
DEFAULT_STRATEGY = MachineDeploymentRolloutStrategy(
    type=ROLLING_UPDATE,
    rolling_update=MachineDeploymentRolloutStrategyRollingUpdate(max_surge=1, max_unavailable=0),
)


class BadStrategy(KapyError):
    """The rollout strategy is unknown; admission should have refused it."""


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
    return deployment.spec.rollout.strategy or DEFAULT_STRATEGY


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
