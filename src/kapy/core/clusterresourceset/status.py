"""The ResourcesApplied condition of a ClusterResourceSet: what went wrong, or that nothing did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, true
from kapy.core.clusterresourceset.scope import SetScope

APPLIED: Final = ConditionType.RESOURCES_APPLIED
FAILED: Final = "Failed to apply ClusterResourceSet resources to Cluster"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be said, in both forms.

    retry: what only another try can mend. goes_on: the cluster is slow, and not all is done yet.
    """

    condition: Condition
    legacy: V1Beta1Condition
    retry: Exception | None = None
    goes_on: bool = False

    @property
    def failed(self) -> bool:
        return self is not SUCCESS


SUCCESS: Final = Outcome(true(APPLIED, Reason.APPLIED), v1beta1.true(V1Beta1Type.RESOURCES_APPLIED))


def tell(scope: SetScope, outcome: Outcome) -> None:
    """Write an outcome to the set's status."""
    set_condition(scope.set, outcome.condition, scope.now)
    v1beta1.set_condition(v1beta1.conditions_of(scope.set), outcome.legacy, scope.now)


def wrong_secret_type(name: str) -> Outcome:
    """A Secret is not of the type that may be put into clusters. Types never change, and a new
    Secret wakes us."""
    message = f"Secret type of resource {name} is not supported"
    return Outcome(
        false(APPLIED, Reason.WRONG_SECRET_TYPE, message),
        _warning(V1Beta1Reason.WRONG_SECRET_TYPE, "unsupported secret type"),
    )


def unreadable(message: str, retry: Exception | None = None) -> Outcome:
    """A source is missing or cannot be read."""
    return Outcome(
        false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.RETRIEVING_RESOURCE_FAILED, message),
        retry,
    )


def no_match(error: Exception) -> Outcome:
    """The selector is none, so that no Clusters can be found; another one wakes us."""
    return Outcome(
        false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.CLUSTER_MATCH_FAILED, str(error)),
    )


def not_connected(message: str) -> Outcome:
    """A workload cluster cannot be reached; the connection wakes us."""
    legacy = v1beta1.false(
        V1Beta1Type.RESOURCES_APPLIED,
        V1Beta1Reason.REMOTE_CLUSTER_CLIENT_FAILED,
        v1beta1.ERROR,
        message,
    )
    return Outcome(false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS), legacy)


def not_applied(message: str, retry: Exception | None = None, *, goes_on: bool = False) -> Outcome:
    """Objects could not be put into a cluster, or a source does not hold any."""
    return Outcome(
        false(
            APPLIED, Reason.NOT_APPLIED, "Failed to apply ClusterResourceSet resources to Cluster"
        ),
        _warning(V1Beta1Reason.APPLY_FAILED, message),
        retry,
        goes_on,
    )


def not_updated(error: Exception) -> Outcome:
    """What was done could not be noted in the cluster's binding."""
    return Outcome(
        false(APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.APPLY_FAILED, str(error)),
        error,
    )


def _warning(reason: str, message: str) -> V1Beta1Condition:
    return v1beta1.false(V1Beta1Type.RESOURCES_APPLIED, reason, v1beta1.WARNING, message)
