"""The dependencies, inputs and results of one reconcile of a ClusterResourceSet, and the condition
ResourcesApplied for each outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.cluster_resource_set import ClusterResourceSet, ResourceRef
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import LOOK_AT_LOGS
from kapy.client.client import Client
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, true
from kapy.core.clusterresourceset.manifests import Manifests, Progress, Values
from kapy.core.clusterresourceset.pending import PendingClusters
from kapy.engine.cache import Cache, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.correlation import Lru
from kapy.engine.draft import Draft
from kapy.kube import Document, Key
from kapy.remote.cluster_cache import ClusterCache

_SOURCES: Final = 64
"""The number of sources that are cached: mostly all sources of one program's sets. They can be
large."""

_APPLIED: Final = ConditionType.RESOURCES_APPLIED


@dataclass(slots=True)
class Dependencies:
    """The dependencies of the ClusterResourceSet reconciler.

    source_keys: maps a ConfigMap or Secret to its sets. pending: the Clusters to process. progress:
    the state of deliveries to slow clusters. contents: sources as they were last read, by kind and
    key.
    """

    client: Client
    cache: Cache
    remote: ClusterCache
    sets: Informer[Document]
    bindings: Informer[ClusterResourceSetBinding]
    clusters: Informer[Document]
    manifests: Manifests
    clock: Clock
    source_keys: Mapper
    pending: PendingClusters[Outcome]
    progress: Lru[Progress] = field(default_factory=Lru)
    contents: Lru[Document] = field(default_factory=lambda: Lru(_SOURCES))
    controller: Controller = field(init=False)


@dataclass(frozen=True, slots=True)
class Source:
    """An existing ConfigMap or Secret with objects to apply. problem: the reason for which its
    values cannot be used.
    """

    reference: ResourceRef
    document: Document
    values: Values = field(default_factory=dict)
    hash: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A condition in both formats.

    retry: the error that a retry may fix. goes_on: the cluster is slow, and not everything is
    applied yet.
    """

    condition: Condition
    legacy: V1Beta1Condition
    retry: Exception | None = None
    goes_on: bool = False

    @property
    def failed(self) -> bool:
        return self.condition.status != "True"


@dataclass(slots=True)
class SetScope:
    """The state of one reconcile of a ClusterResourceSet.

    clusters: the selected Clusters to process. sources: the set's existing sources. outcome: the
    outcome to report, None to leave the former one.
    """

    dependencies: Dependencies
    draft: Draft[ClusterResourceSet]
    clusters: list[Key]
    now: datetime
    sources: Sequence[Source] = ()
    outcome: Outcome | None = None

    @property
    def set(self) -> ClusterResourceSet:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace


SUCCESS: Final = Outcome(
    true(_APPLIED, Reason.APPLIED), v1beta1.true(V1Beta1Type.RESOURCES_APPLIED)
)


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
        false(_APPLIED, Reason.WRONG_SECRET_TYPE, message),
        _warning(V1Beta1Reason.WRONG_SECRET_TYPE, "unsupported secret type"),
    )


def unreadable(message: str, retry: Exception | None = None) -> Outcome:
    """Return the outcome for a missing or unreadable source."""
    return Outcome(
        false(_APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.RETRIEVING_RESOURCE_FAILED, message),
        retry,
    )


def no_match(error: Exception) -> Outcome:
    """Return the outcome for an invalid selector; a change of it enqueues the set."""
    return Outcome(
        false(_APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
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
    return Outcome(false(_APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS), legacy)


def not_applied(message: str, retry: Exception | None = None, *, goes_on: bool = False) -> Outcome:
    """Return the outcome for objects that could not be applied, or an invalid source."""
    return Outcome(
        false(
            _APPLIED, Reason.NOT_APPLIED, "Failed to apply ClusterResourceSet resources to Cluster"
        ),
        _warning(V1Beta1Reason.APPLY_FAILED, message),
        retry,
        goes_on,
    )


def not_updated(error: Exception) -> Outcome:
    """Return the outcome for a failed write of the binding."""
    return Outcome(
        false(_APPLIED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS),
        _warning(V1Beta1Reason.APPLY_FAILED, str(error)),
        error,
    )


def _warning(reason: str, message: str) -> V1Beta1Condition:
    return v1beta1.false(V1Beta1Type.RESOURCES_APPLIED, reason, v1beta1.WARNING, message)
