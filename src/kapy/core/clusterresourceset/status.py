"""The ResourcesApplied condition of a ClusterResourceSet: the error, or success."""

from __future__ import annotations

from typing import Final

from kapy.api.condition import V1Beta1Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, true
from kapy.core.clusterresourceset.scope import Outcome, SetScope

APPLIED: Final = ConditionType.RESOURCES_APPLIED
FAILED: Final = "Failed to apply ClusterResourceSet resources to Cluster"


SUCCESS: Final = Outcome(true(APPLIED, Reason.APPLIED), v1beta1.true(V1Beta1Type.RESOURCES_APPLIED))


def set_outcome(scope: SetScope, outcome: Outcome) -> None:
    """Write an outcome to the set's status."""
    set_condition(scope.set, outcome.condition, scope.now)
    v1beta1.set_condition(v1beta1.conditions_of(scope.set), outcome.legacy, scope.now)


def wrong_secret_type(name: str) -> Outcome:
    """Return the outcome for a Secret whose type may not be applied. Types are immutable, and a new
    Secret enqueues the set.
    """
    message = f"Secret type of resource {name} is not supported"
    return Outcome(
        false(APPLIED, Reason.WRONG_SECRET_TYPE, message),
        _warning(V1Beta1Reason.WRONG_SECRET_TYPE, "unsupported secret type"),
    )


def unreadable(message: str, retry: Exception | None = None) -> Outcome:
    """Return the outcome for a missing or unreadable source."""
    return Outcome(
        false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.RETRIEVING_RESOURCE_FAILED, message),
        retry,
    )


def no_match(error: Exception) -> Outcome:
    """Return the outcome for an invalid selector; a change of it enqueues the set."""
    return Outcome(
        false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.CLUSTER_MATCH_FAILED, str(error)),
    )


def not_connected(message: str) -> Outcome:
    """Return the outcome for an unreachable workload cluster; its connection enqueues the set."""
    legacy = v1beta1.false(
        V1Beta1Type.RESOURCES_APPLIED,
        V1Beta1Reason.REMOTE_CLUSTER_CLIENT_FAILED,
        v1beta1.ERROR,
        message,
    )
    return Outcome(false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS), legacy)


def not_applied(message: str, retry: Exception | None = None, *, goes_on: bool = False) -> Outcome:
    """Return the outcome for objects that could not be applied, or an invalid source."""
    return Outcome(
        false(
            APPLIED, Reason.NOT_APPLIED, "Failed to apply ClusterResourceSet resources to Cluster"
        ),
        _warning(V1Beta1Reason.APPLY_FAILED, message),
        retry,
        goes_on,
    )


def not_updated(error: Exception) -> Outcome:
    """Return the outcome for a failed write of the binding."""
    return Outcome(
        false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.APPLY_FAILED, str(error)),
        error,
    )


def _warning(reason: str, message: str) -> V1Beta1Condition:
    return v1beta1.false(V1Beta1Type.RESOURCES_APPLIED, reason, v1beta1.WARNING, message)
