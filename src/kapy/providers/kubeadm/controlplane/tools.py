"""The dependencies of every reconcile of a KubeadmControlPlane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from kapy.kube import Key
from kapy.providers.kubeadm.controlplane.etcd import EtcdDial
from kapy.providers.kubeadm.controlplane.updates import MachineUpdates
from kapy.providers.kubeadm.controlplane.uptodate import Matches
from kapy.remote.cluster_cache import ClusterCache, Kubeconfig
from kapy.sdk import (
    ClusterCertificates,
    Controller,
    External,
    Kubeconfigs,
    MachineFactory,
    Recorder,
    Runtime,
    SteadyStateCache,
)

CONDITIONS_GRACE: Final = timedelta(minutes=5)
"""How long what was last known is shown after a connection was lost."""

BY_CLUSTER: Final = "machines-by-cluster"
"""Index of Machines by the key of their cluster."""

CertificateExpiry: TypeAlias = Callable[[Kubeconfig, str], Awaitable[datetime]]
"""When the serving certificate of the API server on a node ends: kubeconfig, node name."""


class SteadyUntil(NamedTuple):
    """When a control plane in a steady state is reconciled again, and why."""

    moment: datetime
    reason: str


@dataclass(slots=True)
class Memory:
    """What this process remembers, only to ask less; losing it costs requests.

    upgraded, addons: (uid, generation) of control planes whose workload cluster was brought up to
    date. access: resourceVersion of a kubeconfig Secret and what it says. told: the last preflight
    event of a control plane.
    """

    upgraded: set[tuple[str, int]] = field(default_factory=set)
    addons: set[tuple[str, int]] = field(default_factory=set)
    access: dict[Key, tuple[str, Kubeconfig]] = field(default_factory=dict)
    told: dict[Key, str] = field(default_factory=dict)


@dataclass(slots=True)
class Tools:
    """Runtime, connections and what else reaches the outside.

    updates: who knows which Machines can be updated in place, None where none may be.
    """

    runtime: Runtime
    remote: ClusterCache
    keychain: ClusterCertificates
    kubeconfigs: Kubeconfigs
    external: External
    etcd_dial: EtcdDial
    recorder: Recorder
    certificate_expiry: CertificateExpiry | None
    factory: MachineFactory
    grace: timedelta = CONDITIONS_GRACE
    updates: MachineUpdates | None = None
    settled: SteadyStateCache[SteadyUntil] = field(default_factory=SteadyStateCache)
    matches: Matches = field(default_factory=Matches)
    memory: Memory = field(default_factory=Memory)
    controller: Controller | None = None
