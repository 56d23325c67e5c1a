"""The conditions of a Cluster that mirror provider objects (pure functions)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kapy.api.condition import Condition
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.names import ConditionType, Reason
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions.foreign import NO_REASON_REPORTED, UnreadableConditions, foreign_conditions
from kapy.conditions.lookup import TRUE, false, from_bool, unknown
from kapy.conditions.mirror import Fallback, mirror_foreign
from kapy.contract.fields import View
from kapy.contract.observed import (
    Found,
    Observed,
    Unreadable,
    contract_violation,
    read_error_reason,
)
from kapy.core.cluster.scope import ClusterScope
from kapy.kube import Document
from kapy.kube.meta import ObjectMeta
from kapy.kube.names import Resource, split_api_version

WAITING_FOR_TOPOLOGY: Final = "Waiting for cluster topology to be reconciled"


@dataclass(frozen=True, slots=True)
class MirrorMessages:
    """The texts of one mirrored condition.

    source: the object's own condition. field: the field that reports the same without conditions.
    yes, no: the reasons for that field's values.
    """

    target: str
    source: str
    field: str
    yes: str
    no: str


INFRASTRUCTURE: Final = MirrorMessages(
    ConditionType.INFRASTRUCTURE_READY,
    ConditionType.READY,
    "status.initialization.provisioned",
    Reason.READY,
    Reason.NOT_READY,
)
CONTROL_PLANE: Final = MirrorMessages(
    ConditionType.CONTROL_PLANE_AVAILABLE,
    ConditionType.AVAILABLE,
    "status.initialization.controlPlaneInitialized",
    Reason.AVAILABLE,
    Reason.NOT_AVAILABLE,
)


def infrastructure_ready(scope: ClusterScope) -> Condition:
    """Return the condition InfrastructureReady: the provider's condition or, without one, the state
    of provisioning.
    """
    cluster = scope.cluster
    done = bool(cluster.status.initialization.infrastructure_provisioned)
    ref = cluster.spec.infrastructure_ref
    return _mirror_observed(scope, ref, scope.infrastructure, INFRASTRUCTURE, done=done)


def control_plane_available(scope: ClusterScope) -> Condition:
    """Return the condition ControlPlaneAvailable: the provider's condition or, without one, the
    state of initialization.
    """
    cluster = scope.cluster
    done = bool(cluster.status.initialization.control_plane_initialized)
    ref = cluster.spec.control_plane_ref
    return _mirror_observed(scope, ref, scope.control_plane, CONTROL_PLANE, done=done)


def _mirror_observed(
    scope: ClusterScope,
    ref: ContractVersionedObjectReference | None,
    observed: Observed[View],
    words: MirrorMessages,
    *,
    done: bool,
) -> Condition:
    cluster = scope.cluster
    if ref is None and cluster.spec.topology is not None:
        message = "" if cluster.deleting else WAITING_FOR_TOPOLOGY
        return false(words.target, Reason.OBJECT_DOES_NOT_EXIST, message)
    if isinstance(observed, Found):
        if observed.problem is not None:
            return unknown(words.target, Reason.INTERNAL_ERROR, contract_violation(observed))
        return _mirror_document(observed.view.document, words, ref.kind if ref else "", done=done)
    if isinstance(observed, Unreadable):
        return unknown(words.target, Reason.INTERNAL_ERROR, read_error_reason(observed.error))
    if ref is None:
        # Upstream reports a Cluster without a reference in the same words.
        return unknown(words.target, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
    if not done:
        return false(words.target, Reason.OBJECT_DOES_NOT_EXIST, f"{ref.kind} does not exist")
    removal = f"{ref.kind} has been deleted"
    if not cluster.deleting:
        removal += " while the cluster still exists"
    return false(words.target, Reason.OBJECT_DELETED, removal)


def _mirror_document(
    document: Document, words: MirrorMessages, kind: str, *, done: bool
) -> Condition:
    message = "" if done else f"{kind} {words.field} is false"
    fallback = Fallback(from_bool(done), words.yes if done else words.no, message)
    try:
        foreign = mirror_foreign(document, words.source, target=words.target, fallback=fallback)
    except UnreadableConditions as error:
        return unknown(words.target, Reason.INVALID_CONDITION_REPORTED, str(error))
    if foreign.reason == NO_REASON_REPORTED and foreign.status == TRUE:
        foreign.reason = words.yes
    return foreign


@dataclass(slots=True)
class _Conditions:
    """A status with conditions."""

    conditions: list[Condition]


@dataclass(slots=True)
class ReportingObject:
    """A provider's object with the conditions that are aggregated."""

    RESOURCE: Resource
    metadata: ObjectMeta
    status: _Conditions


def reporting_object(observed: Observed[View]) -> ReportingObject | None:
    """Return a provider's object with its conditions, None if it is absent or unreadable."""
    if not isinstance(observed, Found):
        return None
    document = observed.view.document
    try:
        conditions = foreign_conditions(document)
    except UnreadableConditions:
        return None
    group, version = split_api_version(document["apiVersion"])
    resource = Resource(group, version, "", document["kind"])
    metadata = document["metadata"]
    named = ObjectMeta(name=metadata["name"], labels=metadata.get("labels") or {})
    return ReportingObject(resource, named, _Conditions(conditions))
