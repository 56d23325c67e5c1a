"""The dependencies, inputs and results of one reconcile of a MachinePool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.machine_pool import (
    MachinePool,
    MachinePoolDeprecatedStatus,
    MachinePoolV1Beta1DeprecatedStatus,
)
from kapy.client.client import Client
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.external import External
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.contract.observed import Absent, Observed
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.remote.cluster_cache import ClusterCache
from kapy.remote.nodes import NodeDeletions

Mark: TypeAlias = tuple[str | int, ...]
"""Identities and versions of the objects with which a Machine was last synced."""


@dataclass(slots=True)
class Dependencies:
    """The dependencies of the MachinePool reconciler.

    node_keys: maps a Node to its pools. infra_machine_keys: maps an infrastructure machine to its
    pools. applied: the SSA cache. synced: last Machine state known to match the pool, by pool and
    Machine name. node_deletions: running Node deletions.
    """

    client: Client
    cache: Cache
    external: External
    remote: ClusterCache
    fleet: ClusterObjects
    events: Recorder
    clock: Clock
    node_keys: Callable[[Key, Change], Iterable[Key]]
    infra_machine_keys: Callable[[Change], Iterable[Key]]
    applied: SSACache
    controller: Controller = field(init=False)
    synced: dict[Key, dict[str, Mark]] = field(default_factory=dict)
    node_deletions: NodeDeletions = field(default_factory=NodeDeletions)


@dataclass(slots=True)
class MachinePoolScope:
    """The state of one reconcile of a MachinePool.

    bootstrap, infrastructure: Absent until their phase has read them. nodes: the Nodes of the
    workload cluster, None while unknown. has_machines: whether the provider has an object for each
    machine, None while unknown. machines: the pool's Machines, as they were read.
    """

    dependencies: Dependencies
    draft: Draft[MachinePool]
    cluster: Cluster
    now: datetime
    bootstrap: Observed[BootstrapConfig] = field(default_factory=Absent)
    infrastructure: Observed[InfraMachinePool] = field(default_factory=Absent)
    nodes: Informer[Document] | None = None
    has_machines: bool | None = None
    machines: Sequence[Document] = ()

    @property
    def pool(self) -> MachinePool:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace

    @property
    def legacy(self) -> MachinePoolV1Beta1DeprecatedStatus:
        """Return `status.deprecated.v1beta1`, created if needed."""
        status = self.pool.status
        status.deprecated = status.deprecated or MachinePoolDeprecatedStatus()
        v1beta1 = status.deprecated.v1beta1 or MachinePoolV1Beta1DeprecatedStatus()
        status.deprecated.v1beta1 = v1beta1
        return v1beta1
