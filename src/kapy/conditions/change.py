"""Write conditions to an object, in the order of their importance."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol

import msgspec

from kapy.api.condition import Condition
from kapy.api.names import ConditionType as T
from kapy.api.times import moment, stamp
from kapy.conditions.lookup import get
from kapy.kube.meta import ObjectMeta
from kapy.kube.names import Resource

_BEFORE_GATES: Final = (
    T.AVAILABLE,
    T.READY,
    T.UP_TO_DATE,
    T.REMOTE_CONNECTION_PROBE,
    T.BOOTSTRAP_CONFIG_READY,
    T.INFRASTRUCTURE_READY,
    T.CONTROL_PLANE_INITIALIZED,
    T.CONTROL_PLANE_AVAILABLE,
    T.WORKERS_AVAILABLE,
    T.CERTIFICATES_AVAILABLE,
    T.INITIALIZED,
    T.ETCD_CLUSTER_HEALTHY,
    T.CONTROL_PLANE_COMPONENTS_HEALTHY,
    T.NODE_HEALTHY,
    T.NODE_READY,
    T.NODE_KUBEADM_LABELS_AND_TAINTS_SET,
    T.ETCD_POD_HEALTHY,
    T.ETCD_MEMBER_HEALTHY,
    T.API_SERVER_POD_HEALTHY,
    T.CONTROLLER_MANAGER_POD_HEALTHY,
    T.SCHEDULER_POD_HEALTHY,
    T.HEALTH_CHECK_SUCCEEDED,
    T.OWNER_REMEDIATED,
    T.TOPOLOGY_RECONCILED,
    T.UPDATING,
    T.ROLLING_OUT,
    T.REMEDIATING,
    T.SCALING_DOWN,
    T.SCALING_UP,
    T.MACHINES_READY,
    T.CONTROL_PLANE_MACHINES_READY,
    T.WORKER_MACHINES_READY,
    T.MACHINES_UP_TO_DATE,
    T.CONTROL_PLANE_MACHINES_UP_TO_DATE,
    T.WORKER_MACHINES_UP_TO_DATE,
)
_LAST: Final = (T.PAUSED, T.DELETING)

# Types without a given position (readiness and availability gates) are between both groups.
_GATES: Final = len(_BEFORE_GATES)
_PLACES: Final = {type_: place for place, type_ in enumerate(_BEFORE_GATES)} | {
    type_: _GATES + 1 + place for place, type_ in enumerate(_LAST)
}


def place(condition: Condition) -> tuple[int, str]:
    """Return the sort key of a condition."""
    return _PLACES.get(condition.type, _GATES), condition.type


LONGEST_MESSAGE: Final = 32768


class HasConditions(Protocol):
    """A status with conditions."""

    conditions: list[Condition]


class HasMetadata(Protocol):
    """A typed object: a protocol for everything that has a resource and `metadata`."""

    @property
    def RESOURCE(self) -> Resource: ...  # noqa: N802

    @property
    def metadata(self) -> ObjectMeta: ...


class Conditioned(HasMetadata, Protocol):
    """A typed object whose status has conditions."""

    @property
    def status(self) -> HasConditions: ...


def set_condition(obj: Conditioned, condition: Condition, now: datetime) -> bool:
    """Write a condition to an object's status; return True if that changed anything.

    The transition time is the condition's own, or `now`, and changes only with the status.
    observedGeneration is the object's generation. `condition` is copied. Too long messages (of
    providers) are truncated.
    """
    if len(condition.message) > LONGEST_MESSAGE:
        cut = condition.message[:LONGEST_MESSAGE]
        condition = msgspec.structs.replace(condition, message=cut)
    generation = obj.metadata.generation or None
    conditions = obj.status.conditions
    present = get(conditions, condition.type)
    if present is None:
        added = Condition(
            type=condition.type,
            status=condition.status,
            reason=condition.reason,
            message=condition.message,
            last_transition_time=_time_of(condition, now),
            observed_generation=generation,
        )
        conditions.append(added)
    elif (
        present.status == condition.status
        and present.reason == condition.reason
        and present.message == condition.message
        and (present.observed_generation or None) == generation
    ):
        return False
    else:
        if present.status != condition.status:
            present.last_transition_time = _time_of(condition, now)
        present.status = condition.status
        present.reason = condition.reason
        present.message = condition.message
        present.observed_generation = generation
    conditions.sort(key=place)
    return True


def delete_condition(obj: Conditioned, type_: str) -> None:
    """Remove a condition from an object's status."""
    conditions = obj.status.conditions
    conditions[:] = [condition for condition in conditions if condition.type != type_]


def _time_of(condition: Condition, now: datetime) -> str:
    """Return the transition time in whole seconds."""
    time = condition.last_transition_time
    if "." in time:
        return stamp(moment(time))
    return time or stamp(now)
