"""The conditions of a ClusterClass (pure functions)."""

from __future__ import annotations

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, true, unknown
from kapy.core.clusterclass.scope import ClassScope

_REFS = ConditionType.REF_VERSIONS_UP_TO_DATE
_VARIABLES = ConditionType.VARIABLES_READY


def update_status(scope: ClassScope) -> None:
    """Write the state of templates and variables to the status."""
    legacy = v1beta1.conditions_of(scope.cluster_class)
    for condition, old in (_references(scope), _variables(scope)):
        set_condition(scope.cluster_class, condition, scope.now)
        v1beta1.set_condition(legacy, old, scope.now)


def _references(scope: ClassScope) -> tuple[Condition, V1Beta1Condition]:
    type_ = V1Beta1Type.REF_VERSIONS_UP_TO_DATE
    if scope.unreadable is not None:
        message = str(scope.unreadable)
        return (
            unknown(_REFS, Reason.INTERNAL_ERROR, message),
            v1beta1.unknown(type_, V1Beta1Reason.INTERNAL_ERROR, message),
        )
    if not scope.outdated:
        return true(_REFS, Reason.REF_VERSIONS_UP_TO_DATE), v1beta1.true(type_)
    lines = [
        f"* {outdated.kind} {outdated.name}: current: {outdated.version}, latest: {outdated.newest}"
        for outdated in scope.outdated
    ]
    message = "\n".join(("The following templateRefs are not using the latest apiVersion:", *lines))
    reason = V1Beta1Reason.OUTDATED_REF_VERSIONS
    return (
        false(_REFS, Reason.REF_VERSIONS_NOT_UP_TO_DATE, message),
        v1beta1.false(type_, reason, v1beta1.WARNING, message),
    )


def _variables(scope: ClassScope) -> tuple[Condition, V1Beta1Condition]:
    type_ = V1Beta1Type.VARIABLES_RECONCILED
    if scope.undiscovered is None:
        return true(_VARIABLES, Reason.VARIABLES_READY), v1beta1.true(type_)
    message = str(scope.undiscovered)
    reason = V1Beta1Reason.VARIABLE_DISCOVERY_FAILED
    return (
        false(_VARIABLES, Reason.VARIABLE_DISCOVERY_FAILED, message),
        v1beta1.false(type_, reason, v1beta1.ERROR, message),
    )
