"""Converts the start-up progress of a machine to v1beta1 conditions (pure functions).

A v1beta1 condition reports only that a part is up, or that the machine itself waits. A part that
waits for another part has no v1beta1 condition. A failed part keeps its last condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import Reason
from kapy.api.names_v1beta1 import V1Beta1Reason
from kapy.sdk import conditions, v1beta1

_WAITING: Final[Mapping[str, str]] = {
    Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY: (
        V1Beta1Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE
    ),
    Reason.WAITING_FOR_CONTROL_PLANE_INITIALIZED: V1Beta1Reason.WAITING_CONTROL_PLANE_INITIALIZED,
    Reason.WAITING_FOR_BOOTSTRAP_DATA: V1Beta1Reason.WAITING_FOR_BOOTSTRAP_DATA,
    Reason.WAITING_FOR_STARTUP_TIMEOUT: V1Beta1Reason.WAITING_FOR_STARTUP_TIMEOUT,
}


def reported_v1beta1(conditions: Sequence[Condition]) -> list[V1Beta1Condition]:
    """Return the v1beta1 conditions that follow from the conditions of a DevMachine."""
    v1beta1s = (_v1beta1(condition) for condition in conditions)
    return [beta1_condition for beta1_condition in v1beta1s if beta1_condition is not None]


def _v1beta1(condition: Condition) -> V1Beta1Condition | None:
    if condition.status == conditions.TRUE:
        return v1beta1.true(condition.type)
    reason = _WAITING.get(condition.reason)
    return None if reason is None else v1beta1.false(condition.type, reason, v1beta1.INFO)
