"""What one reconcile of a managed topology works with: its tools, and what it has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.client.client import Client
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.core.topology.planning import Planner
from kapy.core.topology.settled import Fingerprint, Patches, Settled
from kapy.core.topology.upgrading import Workloads
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document, Key
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hook_memory import HookMemory
from kapy.topology.hooks import LifecycleHooks
from kapy.topology.patches.causes import Cause
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_tracker import UpgradeTracker

Explain = Callable[[Key, Sequence[Cause]], None]


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a topology uses.

    hooks, patches: doors to extensions, None while the RuntimeSDK gate is closed. memory: their
    answers. settled: the topologies of which nothing was left to do. random: spreads the calls of
    extensions of those. explain: is told what the patches of a class made of a Cluster's objects,
    where somebody asks.
    """

    client: Client
    external: External
    remote: Workloads
    fleet: Fleet
    classes: Informer[Document]
    health_checks: Informer[Document]
    planner: Planner
    events: Recorder
    clock: Clock
    hooks: LifecycleHooks | None = None
    patches: Patches | None = None
    memory: HookMemory = field(default_factory=HookMemory)
    settled: dict[Key, Settled] = field(default_factory=dict)
    random: Random = field(default_factory=Random)
    explain: Explain | None = None


@dataclass(slots=True)
class TopologyScope:
    """One Cluster with a topology.

    cluster_class, current, desired: None until they are known. settled: what is known of the
    topology where nothing has changed since. mark: what the cluster is made of, if nothing is left
    to do now. calls_extensions: whether its class names extensions for patches.
    """

    tools: Tools
    draft: Draft[Cluster]
    now: datetime
    calls: HookCalls
    upgrades: UpgradeTracker
    cluster_class: ClusterClass | None = None
    current: ClusterState | None = None
    desired: ClusterState | None = None
    settled: Settled | None = None
    mark: Fingerprint | None = None
    calls_extensions: bool = False

    @property
    def cluster(self) -> Cluster:
        return self.draft.object
