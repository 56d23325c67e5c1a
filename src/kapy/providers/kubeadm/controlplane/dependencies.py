"""The dependencies of every reconcile of a KubeadmControlPlane, and the interface that decides
whether Machines can be updated in place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Protocol, TypeAlias

from kapy.kube import Document, Key
from kapy.providers.kubeadm.controlplane.etcd import EtcdDial
from kapy.providers.kubeadm.controlplane.scope import EtcdState
from kapy.providers.kubeadm.controlplane.uptodate import ConfigMatchCache
from kapy.remote.cluster_cache import ClusterCache, Kubeconfig
from kapy.sdk import Controller, Runtime
from kapy.sdk.certificates import ClusterCertificates, Kubeconfigs
from kapy.sdk.contracts import External
from kapy.sdk.controllers import Recorder, StatusDelay
from kapy.sdk.machine_control_plane import MachineFactory, SteadyStateCache

CONDITIONS_GRACE: Final = timedelta(minutes=5)
"""The time for which the last known state is shown after the connection was lost."""
BY_CLUSTER: Final = "machines-by-cluster"
"""Index of Machines by the key of their cluster."""
CertificateExpiry: TypeAlias = Callable[[Kubeconfig, str], Awaitable[datetime]]
"""When the serving certificate of the API server on a node ends: kubeconfig, node name."""


class MachineUpdates(Protocol):
    """Asks an extension what it can update."""

    async def can_update_machine(
        self, control_plane: Key, current: Document, desired: Document
    ) -> Sequence[str]:
        """Return the reasons for which a Machine cannot be updated in place; empty if it can.

        current, desired: `machine`, `infrastructureMachine` and `bootstrapConfig`. Raises KapyError
        if that is unknown.
        """
        ...


class EtcdQuery(NamedTuple):
    """A query to the etcd of a cluster, and its last result. nodes: the Nodes whose etcd members
    may be queried.
    """

    cluster: Key
    nodes: Sequence[str]
    answer: EtcdState


class SteadyState(NamedTuple):
    """The time of the next reconcile of a control plane in a steady state, and its reason.

    moment: the time of the next query `etcd` (None if etcd is not queried). full: the time when the
    control plane is reconciled even if the result of the query has not changed.
    """

    moment: datetime
    reason: str
    full: datetime
    etcd: EtcdQuery | None


@dataclass(slots=True)
class ReconcileCache:
    """Caches that save requests; they can be lost at any time.

    upgraded, addons: (uid, generation) of control planes whose workload cluster is up to date, by
    the keys of the control planes. kubeconfigs: resourceVersion and content of kubeconfig Secrets,
    by the keys of the Clusters. last_event: the last preflight event of a control plane.
    delayed_machine_statuses: minor changes of statuses that are written later.
    """

    upgraded: dict[Key, tuple[str, int]] = field(default_factory=dict)
    addons: dict[Key, tuple[str, int]] = field(default_factory=dict)
    kubeconfigs: dict[Key, tuple[str, Kubeconfig]] = field(default_factory=dict)
    last_event: dict[Key, str] = field(default_factory=dict)
    delayed_machine_statuses: StatusDelay = field(default_factory=StatusDelay)

    def forget(self, key: Key) -> None:
        """Forget a deleted control plane."""
        self.upgraded.pop(key, None)
        self.addons.pop(key, None)
        self.last_event.pop(key, None)


@dataclass(slots=True)
class Dependencies:
    """The dependencies of the reconciler: runtime, connections and caches.

    updates: decides which Machines can be updated in place; None disables in-place updates.
    """

    runtime: Runtime
    remote: ClusterCache
    certificates: ClusterCertificates
    kubeconfigs: Kubeconfigs
    external: External
    etcd_dial: EtcdDial
    recorder: Recorder
    certificate_expiry: CertificateExpiry | None
    factory: MachineFactory
    grace: timedelta = CONDITIONS_GRACE
    updates: MachineUpdates | None = None
    steady_states: SteadyStateCache[SteadyState] = field(default_factory=SteadyStateCache)
    matches: ConfigMatchCache = field(default_factory=ConfigMatchCache)
    cache: ReconcileCache = field(default_factory=ReconcileCache)
    controller: Controller | None = None
