"""How far a machine has started, as v1beta1 has it. Pure.

A part that waits for another one was not told of then: only what holds, and what the machine
itself waits for. What failed is left as it was told last.
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
    """The v1beta1 conditions that change with `told`, the conditions of a DevMachine."""
    found = (_v1beta1(one) for one in told)
    return [one for one in found if one is not None]


def _v1beta1(told: Condition) -> V1Beta1Condition | None:
    if told.status == conditions.TRUE:
        return v1beta1.true(told.type)
    reason = _WAITING.get(told.reason)
    return None if reason is None else v1beta1.false(told.type, reason, v1beta1.INFO)
