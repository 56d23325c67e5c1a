"""DevCluster and DevMachine with another backend than `inMemory`: said, not served."""

from __future__ import annotations

from typing import Final

from kapy.api.condition import Condition
from kapy.api.names import ConditionType, Reason
from kapy.sdk import conditions

UNSERVED: Final = "No controller serves backend.docker here; use backend.inMemory"


def unserved_machine() -> Condition:
    """The condition of a DevMachine that nobody will start."""
    return conditions.false(ConditionType.CONTAINER_PROVISIONED, Reason.NOT_PROVISIONED, UNSERVED)


def unserved_cluster() -> Condition:
    """The condition of a DevCluster that nobody will start."""
    return conditions.false(ConditionType.LOAD_BALANCER_AVAILABLE, Reason.NOT_AVAILABLE, UNSERVED)
