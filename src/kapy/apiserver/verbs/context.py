"""The parts of one server that the handlers of its verbs and its controllers use."""

from __future__ import annotations

import random
from dataclasses import dataclass

from kapy._aio.clock import Clock
from kapy.apiserver.admission.plugin import AdmissionChain
from kapy.apiserver.metrics.counters import ServerMetrics
from kapy.apiserver.request.limits.large_requests import LargeRequestQueue
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.registry import Registry
from kapy.apiserver.resources.version_converter import VersionConverter
from kapy.apiserver.store.store import Store
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.undefaulted import UndefaultedObjects


@dataclass(frozen=True, slots=True, eq=False)
class ServerContext:
    """The parts of one server, built by `kapy.apiserver.server.assembly`.

    has_kubelets: a deleted pod waits for its node's kubelet. undefaulted: objects stored with
    defaults that kube-apiserver would not have stored.
    """

    store: Store
    clock: Clock
    registry: Registry
    rng: random.Random
    converter: VersionConverter
    admission: AdmissionChain
    metrics: ServerMetrics
    large_work: LargeRequestQueue
    undefaulted: UndefaultedObjects
    has_kubelets: bool

    def table(self, kind: Kind) -> Table:
        """Return the table of a kind."""
        return self.store.table(kind.table)
