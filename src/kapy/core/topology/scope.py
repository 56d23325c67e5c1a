"""The dependencies and inputs of one reconcile of a managed topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Protocol

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.client.client import Client
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.external import External
from kapy.core.topology.fingerprint import Fingerprint, PatchRevisions, SettledTopology
from kapy.core.topology.planning import Planner
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import Resource
from kapy.topology.hook_cache import HookCache
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import LifecycleHooks
from kapy.topology.patches.causes import Cause
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_tracker import UpgradeTracker

Explain = Callable[[Key, Sequence[Cause]], None]


class Nodes(Protocol):
    """The Nodes of a workload cluster, as an informer has them."""

    def raw(self, key: Key) -> Document | None:
        """Return one Node, None if it does not exist."""
        ...


class Workloads(Protocol):
    """The part of `ClusterCache` that the topology controller uses."""

    def informer(self, cluster: Key, resource: Resource) -> Nodes:
        """Return the informer of a resource in a workload cluster. Raises NotConnected."""
        ...

    def subscribe(self, handler: Callable[[Key], None]) -> Callable[[], None]:
        """Call the handler with a cluster when its connection changes."""
        ...


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the topology reconciler.

    hooks, patches: clients of extensions, None if the feature gate RuntimeSDK is off. memory: their
    responses. settled: settled topologies. random: spreads the extension calls of settled
    topologies. explain: receives the patches of a Cluster's objects, if requested.
    """

    client: Client
    external: External
    remote: Workloads
    fleet: ClusterObjects
    classes: Informer[Document]
    health_checks: Informer[Document]
    planner: Planner
    events: Recorder
    clock: Clock
    hooks: LifecycleHooks | None = None
    patches: PatchRevisions | None = None
    memory: HookCache = field(default_factory=HookCache)
    settled: dict[Key, SettledTopology] = field(default_factory=dict)
    random: Random = field(default_factory=Random)
    explain: Explain | None = None


@dataclass(slots=True)
class TopologyScope:
    """One Cluster with a topology.

    cluster_class, current, desired: None before they are known. settled: the settled topology, if
    nothing has changed. mark: the fingerprint, if nothing is left to do. calls_extensions: whether
    its class names extensions for patches. failure: the error that ended the reconcile.
    """

    dependencies: Dependencies
    draft: Draft[Cluster]
    now: datetime
    calls: HookCalls
    upgrades: UpgradeTracker
    cluster_class: ClusterClass | None = None
    current: ClusterState | None = None
    desired: ClusterState | None = None
    settled: SettledTopology | None = None
    mark: Fingerprint | None = None
    calls_extensions: bool = False
    failure: KapyError | None = None

    @property
    def cluster(self) -> Cluster:
        return self.draft.object
