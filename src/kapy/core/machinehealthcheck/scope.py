"""The dependencies, inputs and results of one reconcile of a MachineHealthCheck."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.client.client import Client
from kapy.contract.cluster_objects import ClusterObjects
from kapy.core.machinehealthcheck.checks import Target, Verdict
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document, Key
from kapy.remote.cluster_cache import ClusterCache


@dataclass(slots=True)
class Dependencies:
    """The dependencies of the MachineHealthCheck reconciler.

    node_keys, template_keys, request_keys: map a Node, remediation template or remediation request
    to its checks.
    """

    client: Client
    cache: Cache
    remote: ClusterCache
    fleet: ClusterObjects
    checks: Informer[Document]
    events: Recorder
    clock: Clock
    node_keys: Callable[[Key, Change], Iterable[Key]]
    template_keys: Mapper
    request_keys: Mapper
    controller: Controller = field(init=False)


@dataclass(slots=True)
class HealthScope:
    """One MachineHealthCheck and its Machines.

    findings: each Machine with its verdict.
    """

    dependencies: Dependencies
    draft: Draft[MachineHealthCheck]
    cluster: Cluster
    now: datetime
    findings: Sequence[tuple[Target, Verdict]] = ()

    @property
    def check(self) -> MachineHealthCheck:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace
