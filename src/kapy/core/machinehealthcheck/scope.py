"""What one reconcile of a MachineHealthCheck works with: its tools, what it has read and found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.client.client import Client
from kapy.contract.fleet import Fleet
from kapy.core.machinehealthcheck.checks import Verdict
from kapy.core.machinehealthcheck.targets import Target
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.kube import Document, Key
from kapy.remote.cluster_cache import ClusterCache


@dataclass(slots=True)
class Tools:
    """What every reconcile of a MachineHealthCheck uses.

    node_keys, template_keys, request_keys: the checks that look at a changed Node, remediation
    template or remediation request.
    """

    client: Client
    cache: Cache
    remote: ClusterCache
    fleet: Fleet
    checks: Informer[Document]
    events: Recorder
    clock: Clock
    node_keys: Callable[[Key, Change], Iterable[Key]]
    template_keys: Mapper
    request_keys: Mapper
    controller: Controller = field(init=False)


@dataclass(slots=True)
class HealthScope:
    """One MachineHealthCheck and the Machines that it watches.

    findings: each of them with what was found out about its health.
    """

    tools: Tools
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
