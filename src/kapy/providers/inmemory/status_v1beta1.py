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


def reported_v1beta1(told: Sequence[Condition]) -> list[V1Beta1Condition]:
    """Return the v1beta1 conditions that follow from `told`, the conditions of a DevMachine."""
    found = (_v1beta1(one) for one in told)
    return [one for one in found if one is not None]


def _v1beta1(told: Condition) -> V1Beta1Condition | None:
    if told.status == conditions.TRUE:
        return v1beta1.true(told.type)
    reason = _WAITING.get(told.reason)
    return None if reason is None else v1beta1.false(told.type, reason, v1beta1.INFO)
