"""How far a rolling update may leave the desired number of replicas, upwards and downwards.

Fields: `spec.rollout.strategy.rollingUpdate.maxSurge` and `.maxUnavailable`, each a number or a
percentage of `spec.replicas`.
"""

from __future__ import annotations

import re

from kapy.api.machine_deployment import (
    MachineDeployment,
    MachineDeploymentRolloutStrategy,
    MachineDeploymentRolloutStrategyRollingUpdate,
)
from kapy.kube.errors import KapyError

ROLLING_UPDATE = "RollingUpdate"
ON_DELETE = "OnDelete"
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
DEFAULT_STRATEGY = MachineDeploymentRolloutStrategy(
    type=ROLLING_UPDATE,
    rolling_update=MachineDeploymentRolloutStrategyRollingUpdate(max_surge=1, max_unavailable=0),
)


class BadStrategy(KapyError):
    """A field of the rollout strategy has a value that admission should have refused."""


def scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    """A number as it is, or a percentage of `total`. Raises BadStrategy."""
    if value is None:
        raise BadStrategy("nil value for IntOrString")
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    if number == value:
        raise BadStrategy("invalid value for IntOrString: invalid type: string is not a percentage")
    if not WHOLE_NUMBER.fullmatch(number):
        raise BadStrategy(
            f'invalid value for IntOrString: invalid value "{value}": '
            f'strconv.Atoi: parsing "{number}": invalid syntax'
        )
    hundredths = int(number) * total
    return -(-hundredths // 100) if round_up else hundredths // 100


def fenceposts(
    max_surge: int | str | None, max_unavailable: int | str | None, desired: int
) -> tuple[int, int]:
    """Surge (rounded up) and unavailable (rounded down) as numbers of replicas.

    Both zero would mean a rollout that can never move: then one replica may be unavailable,
    because surging may be impossible for want of quota.
    """
    surge = scaled(max_surge, desired, round_up=True)
    unavailable = scaled(max_unavailable, desired, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, unavailable


def is_rolling(deployment: MachineDeployment) -> bool:
    """Whether the strategy is RollingUpdate."""
    return strategy_of(deployment).type == ROLLING_UPDATE


def strategy_of(deployment: MachineDeployment) -> MachineDeploymentRolloutStrategy:
    """The strategy; admission defaults it to a RollingUpdate that surges by one."""
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
    except BadStrategy:
        return 0, 0
