"""The dependencies, inputs and results of one reconcile of a ClusterResourceSet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.cluster_resource_set import ClusterResourceSet, ResourceRef
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.client.client import Client
from kapy.core.clusterresourceset.applying import Progress
from kapy.core.clusterresourceset.manifests import Manifests, Values
from kapy.core.clusterresourceset.pending import PendingClusters
from kapy.engine.cache import Cache, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.correlation import Lru
from kapy.engine.draft import Draft
from kapy.kube import Document, Key
from kapy.remote.cluster_cache import ClusterCache

SOURCES: Final = 64
"""The number of sources that are cached: mostly all sources of one program's sets. They can be
large."""


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
    contents: Lru[Document] = field(default_factory=lambda: Lru(SOURCES))
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
