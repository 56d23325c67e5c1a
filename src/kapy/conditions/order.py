"""The order of conditions in an object: the most important first."""

from __future__ import annotations

from typing import Final

from kapy.api.condition import Condition
from kapy.api.names import ConditionType as T

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
